#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

#define SF64_SIGN   0x8000000000000000ul

#define SF64_INF    0x7ff0000000000000ul

#define SF64_NAN    0x7ff8000000000000ul

#define SF64_FRAC   0x000ffffffffffffful

#define SF64_HIDDEN 0x0010000000000000ul

static inline uint sf64_clz(ulong x) {
    uint hi = (uint)(x >> 32);
    return hi != 0u ? (uint)clz(hi) : 32u + (uint)clz((uint)x);
}

static inline bool sf64_isnan(ulong a) {
    return (a & ~SF64_SIGN) > SF64_INF;
}

static inline ulong sf64_shift_jam(ulong x, uint n) {
    n = n < 63u ? n : 63u;
    ulong s = x >> n;
    return s | (ulong)((s << n) != x);
}

// e >= 1; a significand without bit 63 is subnormal and has e == 1.
static inline ulong sf64_round(int e, ulong sig) {
    uint up = (((uint)sig & 0x7ffu) + 0x3ffu + ((uint)(sig >> 11) & 1u)) >> 11;
    ulong mag = ((ulong)(e - 1) << 52) + (sig >> 11) + (ulong)up;
    return mag < SF64_INF ? mag : SF64_INF;
}

static inline ulong sf64_add(ulong a, ulong b) {
    bool swap = (a & ~SF64_SIGN) < (b & ~SF64_SIGN);
    ulong x = swap ? b : a;
    ulong y = swap ? a : b;
    uint ex = (uint)(x >> 52) & 0x7ffu;
    uint ey = (uint)(y >> 52) & 0x7ffu;
    bool differ = ((x ^ y) & SF64_SIGN) != 0ul;
    if (ex == 0x7ffu) {
        bool bad = sf64_isnan(x) || (ey == 0x7ffu && differ);
        return bad ? SF64_NAN : x;
    }
    ulong sx = ((x & SF64_FRAC) | (ex != 0u ? SF64_HIDDEN : 0ul)) << 10;
    ulong sy = ((y & SF64_FRAC) | (ey != 0u ? SF64_HIDDEN : 0ul)) << 10;
    ex = ex != 0u ? ex : 1u;
    ey = ey != 0u ? ey : 1u;
    sy = sf64_shift_jam(sy, ex - ey);
    ulong sum = differ ? sx - sy : sx + sy;
    if (sum == 0ul) return x & y & SF64_SIGN;
    uint n = sf64_clz(sum);
    n = n < ex ? n : ex;
    return (x & SF64_SIGN) | sf64_round((int)(ex + 1u - n), sum << n);
}

struct f64 {
    ulong bits;
};

static inline f64 add_wrap(f64 a, f64 b) {
    return f64{sf64_add(a.bits, b.bits)};
}

static inline f64 add_checked(f64 a, f64 b, thread uint&) {
    return add_wrap(a, b);
}

struct Args {
    ulong n;
    ulong a_off;
    ulong b_off;
    ulong a_valid;
    ulong b_valid;
    uint a_stride;
    uint b_stride;
};

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

// out = add_checked(a, b, bad)
kernel void add_f64(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        uint bad = 0u;
        f64 r = add_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = add_checked(a, b, bad)
kernel void add_f64_pending(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        uint bad = 0u;
        f64 r = add_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = add_checked(a, b, bad)
kernel void add_f64_bnulls(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        f64 r = add_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = add_checked(a, b, bad)
kernel void add_f64_bnulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        f64 r = add_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = add_checked(a, b, bad)
kernel void add_f64_anulls(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uint bad = 0u;
        f64 r = add_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = add_checked(a, b, bad)
kernel void add_f64_anulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uint bad = 0u;
        f64 r = add_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = add_checked(a, b, bad)
kernel void add_f64_nulls(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        f64 r = add_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = add_checked(a, b, bad)
kernel void add_f64_nulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        f64 r = add_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}
