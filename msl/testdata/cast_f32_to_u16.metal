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

static inline bool sf64_isnan(ulong a) {
    return (a & ~SF64_SIGN) > SF64_INF;
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

static inline ushort cast_wrap(f32 a) {
    long x = sf64_to_long(sf64_from_float_bits(a.bits));
    return (ushort)(x < 0l ? 0l : x > 65535l ? 65535l : x);
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

// out = cast_wrap(a)
kernel void cast_f32_to_u16(
    device const uint* a_in [[buffer(0)]],
    device ushort* out [[buffer(4)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f32 a = f32{live ? a_in[p.a_off + row * p.a_stride] : (uint)0};
        ushort r = cast_wrap(a);
        if (row < p.n) out[row] = live ? r : (ushort)0;
    }
}

// out = cast_wrap(a)
kernel void cast_f32_to_u16_pending(
    device const uint* a_in [[buffer(0)]],
    device ushort* out [[buffer(4)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f32 a = f32{live ? a_in[p.a_off + row * p.a_stride] : (uint)0};
        ushort r = cast_wrap(a);
        if (row < p.n) out[row] = live ? r : (ushort)0;
    }
}

// out = cast_wrap(a)
kernel void cast_f32_to_u16_nulls(
    device const uint* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device ushort* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f32 a = f32{live ? a_in[p.a_off + row * p.a_stride] : (uint)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        ushort r = cast_wrap(a);
        bool v = live && (va);
        if (row < p.n) out[row] = live ? r : (ushort)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
}

// out = cast_wrap(a)
kernel void cast_f32_to_u16_nulls_pending(
    device const uint* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device ushort* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f32 a = f32{live ? a_in[p.a_off + row * p.a_stride] : (uint)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        ushort r = cast_wrap(a);
        bool v = live && (va);
        if (row < p.n) out[row] = live ? r : (ushort)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
}
