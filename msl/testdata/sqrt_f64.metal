#include <metal_stdlib>
using namespace metal;

#define ERR_NEGATIVE_ROOT 8u

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

// e >= 1; a significand without bit 63 is subnormal and has e == 1.
static inline ulong sf64_round(int e, ulong sig) {
    uint up = (((uint)sig & 0x7ffu) + 0x3ffu + ((uint)(sig >> 11) & 1u)) >> 11;
    ulong mag = ((ulong)(e - 1) << 52) + (sig >> 11) + (ulong)up;
    return mag < SF64_INF ? mag : SF64_INF;
}

static inline uint sf64_rsqrt_step(uint x, uint r) {
    uint t = (uint)(((ulong)r * r) >> 32);
    uint u = (uint)(((ulong)x * t) >> 32);
    return (uint)(((ulong)r * (0xbffffffdu - u)) >> 31);
}

static inline ulong sf64_sqrt(ulong a) {
    if (sf64_isnan(a)) return SF64_NAN;
    if ((a & ~SF64_SIGN) == 0ul || a == SF64_INF) return a;
    if ((a & SF64_SIGN) != 0ul) return SF64_NAN;
    int e = (int)(a >> 52);
    ulong x = a & SF64_FRAC;
    uint n = e == 0 ? sf64_clz(x) - 11u : 0u;
    e += (int)(e == 0) - (int)n;
    uint odd = (uint)e & 1u;
    x = ((x << n) | SF64_HIDDEN) << (11u - odd);
    uint xh = (uint)(x >> 32);
    uint r = 0x74ff705au + (uint)(((ulong)~xh * 0x9bff4078u) >> 32);
    r = sf64_rsqrt_step(xh, r);
    r = sf64_rsqrt_step(xh, r);
    r = sf64_rsqrt_step(xh, r);
    r = sf64_rsqrt_step(xh, r);
    ulong s = ((ulong)xh * r) >> 31;
    ulong err = (x - s * s) >> 5;
    ulong q = ((s << 32) + ((r * err) >> 27)) >> 9;
    q += (ulong)((x << 46) - q * q > 2ul * q);
    // Sticky for an exact root as well: its 27 bits at most leave zeros to round away.
    return sf64_round((e + 1022 + (int)odd) >> 1, (q << 9) | 1ul);
}

#define SIGN_BIT 0x8000000000000000ul

#define INFINITE 0x7ff0000000000000ul

struct f64 {
    ulong bits;
};

static inline f64 root(f64 a) {
    return f64{sf64_sqrt(a.bits)};
}

static inline f64 root_checked(f64 a, thread uint& bad) {
    if (a.bits > SIGN_BIT && (a.bits & ~SIGN_BIT) <= INFINITE) bad |= ERR_NEGATIVE_ROOT;
    return root(a);
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

// out = root_checked(a, bad)
kernel void sqrt_f64(
    device const ulong* a_in [[buffer(0)]],
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
        uint bad = 0u;
        f64 r = root_checked(a, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = root_checked(a, bad)
kernel void sqrt_f64_pending(
    device const ulong* a_in [[buffer(0)]],
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
        uint bad = 0u;
        f64 r = root_checked(a, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = root_checked(a, bad)
kernel void sqrt_f64_nulls(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
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
        uint bad = 0u;
        f64 r = root_checked(a, bad);
        bool v = live && (va);
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

// out = root_checked(a, bad)
kernel void sqrt_f64_nulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
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
        uint bad = 0u;
        f64 r = root_checked(a, bad);
        bool v = live && (va);
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
