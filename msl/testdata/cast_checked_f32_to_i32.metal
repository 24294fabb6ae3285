#include <metal_stdlib>
using namespace metal;

#define ERR_OVERFLOW 1u

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

static inline bool sf64_eq(ulong a, ulong b) {
    bool zero = ((a | b) & ~SF64_SIGN) == 0ul;
    return !sf64_isnan(a) && !sf64_isnan(b) && (a == b || zero);
}

static inline ulong sf64_from_ulong(ulong x) {
    if (x == 0ul) return 0ul;
    uint n = sf64_clz(x);
    return sf64_round((int)(1086u - n), x << n);
}

static inline ulong sf64_from_long(long x) {
    ulong sign = x < 0 ? SF64_SIGN : 0ul;
    return sign | sf64_from_ulong(x < 0 ? 0ul - (ulong)x : (ulong)x);
}

static inline ulong sf64_from_float_bits(uint a) {
    ulong sign = (ulong)(a & 0x80000000u) << 32;
    uint e = (a >> 23) & 0xffu;
    uint frac = a & 0x7fffffu;
    if (e == 0xffu) return frac != 0u ? SF64_NAN : sign | SF64_INF;
    if (e != 0u) return sign | ((ulong)(e + 896u) << 52) | ((ulong)frac << 29);
    if (frac == 0u) return sign;
    uint n = (uint)clz(frac) - 8u;
    // The hidden one of the shifted fraction adds one to the exponent field.
    return sign | (((ulong)(896u - n) << 52) + ((ulong)(frac << n) << 29));
}

static inline ulong sf64_to_ulong(ulong a) {
    int e = (int)(a >> 52) - 1075;
    if (sf64_isnan(a) || (a & SF64_SIGN) != 0ul || e < -52) return 0ul;
    if (e > 11) return ~0ul;
    ulong sig = (a & SF64_FRAC) | SF64_HIDDEN;
    return e < 0 ? sig >> (uint)-e : sig << (uint)e;
}

static inline long sf64_to_long(ulong a) {
    ulong m = sf64_to_ulong(a & ~SF64_SIGN);
    if ((a & SF64_SIGN) == 0ul) return (long)(m < SF64_SIGN ? m : SF64_SIGN - 1ul);
    return (long)(0ul - (m < SF64_SIGN ? m : SF64_SIGN));
}

struct f32 {
    uint bits;
};

static inline int cast_wrap(f32 a) {
    long x = sf64_to_long(sf64_from_float_bits(a.bits));
    return (int)(x < -2147483648l ? -2147483648l : x > 2147483647l ? 2147483647l : x);
}

static inline int cast_checked(f32 a, thread uint& bad) {
    int r = cast_wrap(a);
    if (!sf64_eq(sf64_from_long((long)r), sf64_from_float_bits(a.bits))) bad |= ERR_OVERFLOW;
    return r;
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

// out = cast_checked(a, bad)
kernel void cast_checked_f32_to_i32(
    device const uint* a_in [[buffer(0)]],
    device int* out [[buffer(4)]],
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
        f32 a = f32{live ? a_in[p.a_off + row * p.a_stride] : (uint)0};
        uint bad = 0u;
        int r = cast_checked(a, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (int)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = cast_checked(a, bad)
kernel void cast_checked_f32_to_i32_pending(
    device const uint* a_in [[buffer(0)]],
    device int* out [[buffer(4)]],
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
        f32 a = f32{live ? a_in[p.a_off + row * p.a_stride] : (uint)0};
        uint bad = 0u;
        int r = cast_checked(a, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (int)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = cast_checked(a, bad)
kernel void cast_checked_f32_to_i32_nulls(
    device const uint* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device int* out [[buffer(4)]],
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
        f32 a = f32{live ? a_in[p.a_off + row * p.a_stride] : (uint)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        uint bad = 0u;
        int r = cast_checked(a, bad);
        bool v = live && (va);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (int)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = cast_checked(a, bad)
kernel void cast_checked_f32_to_i32_nulls_pending(
    device const uint* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device int* out [[buffer(4)]],
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
        f32 a = f32{live ? a_in[p.a_off + row * p.a_stride] : (uint)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        uint bad = 0u;
        int r = cast_checked(a, bad);
        bool v = live && (va);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (int)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}
