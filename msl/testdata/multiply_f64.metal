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

static inline ulong sf64_round_tiny(int e, ulong sig) {
    if (e < 1) {
        sig = sf64_shift_jam(sig, (uint)(1 - e));
        e = 1;
    }
    return sf64_round(e, sig);
}

// The high half of the product; jam makes its bit 0 sticky for the low half.
static inline ulong sf64_mul_high(ulong a, ulong b, bool jam) {
    ulong al = a & 0xfffffffful, ah = a >> 32;
    ulong bl = b & 0xfffffffful, bh = b >> 32;
    ulong p = al * bl;
    ulong q = ah * bl + (p >> 32);
    ulong r = al * bh + (q & 0xfffffffful);
    ulong hi = ah * bh + (q >> 32) + (r >> 32);
    return hi | (ulong)(jam && ((uint)p | (uint)r) != 0u);
}

static inline ulong sf64_mul(ulong a, ulong b) {
    ulong sign = (a ^ b) & SF64_SIGN;
    uint ea = (uint)(a >> 52) & 0x7ffu;
    uint eb = (uint)(b >> 52) & 0x7ffu;
    ulong sa = a & SF64_FRAC;
    ulong sb = b & SF64_FRAC;
    int e = (int)(ea + eb) - 1022;
    if (ea - 1u >= 0x7feu || eb - 1u >= 0x7feu) {
        bool za = (a & ~SF64_SIGN) == 0ul;
        bool zb = (b & ~SF64_SIGN) == 0ul;
        if (ea == 0x7ffu || eb == 0x7ffu) {
            bool bad = sf64_isnan(a) || sf64_isnan(b) || za || zb;
            return bad ? SF64_NAN : sign | SF64_INF;
        }
        if (za || zb) return sign;
        uint na = ea == 0u ? sf64_clz(sa) - 11u : 0u;
        uint nb = eb == 0u ? sf64_clz(sb) - 11u : 0u;
        sa <<= na;
        sb <<= nb;
        e += (int)(ea == 0u) + (int)(eb == 0u) - (int)(na + nb);
    }
    ulong p = sf64_mul_high((sa | SF64_HIDDEN) << 11, (sb | SF64_HIDDEN) << 11, true);
    uint n = (uint)(p >> 63) ^ 1u;
    return sign | sf64_round_tiny(e - (int)n, p << n);
}

struct f64 {
    ulong bits;
};

static inline f64 mul_wrap(f64 a, f64 b) {
    return f64{sf64_mul(a.bits, b.bits)};
}

static inline f64 mul_checked(f64 a, f64 b, thread uint&) {
    return mul_wrap(a, b);
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

// out = mul_checked(a, b, bad)
kernel void multiply_f64(
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
        f64 r = mul_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = mul_checked(a, b, bad)
kernel void multiply_f64_pending(
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
        f64 r = mul_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = mul_checked(a, b, bad)
kernel void multiply_f64_bnulls(
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
        f64 r = mul_checked(a, b, bad);
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

// out = mul_checked(a, b, bad)
kernel void multiply_f64_bnulls_pending(
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
        f64 r = mul_checked(a, b, bad);
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

// out = mul_checked(a, b, bad)
kernel void multiply_f64_anulls(
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
        f64 r = mul_checked(a, b, bad);
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

// out = mul_checked(a, b, bad)
kernel void multiply_f64_anulls_pending(
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
        f64 r = mul_checked(a, b, bad);
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

// out = mul_checked(a, b, bad)
kernel void multiply_f64_nulls(
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
        f64 r = mul_checked(a, b, bad);
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

// out = mul_checked(a, b, bad)
kernel void multiply_f64_nulls_pending(
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
        f64 r = mul_checked(a, b, bad);
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
