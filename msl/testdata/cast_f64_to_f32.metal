#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

#define SF64_SIGN   0x8000000000000000ul

#define SF64_INF    0x7ff0000000000000ul

#define SF64_FRAC   0x000ffffffffffffful

#define SF64_HIDDEN 0x0010000000000000ul

static inline bool sf64_isnan(ulong a) {
    return (a & ~SF64_SIGN) > SF64_INF;
}

static inline ulong sf64_shift_jam(ulong x, uint n) {
    n = n < 63u ? n : 63u;
    ulong s = x >> n;
    return s | (ulong)((s << n) != x);
}

static inline uint sf64_to_float_bits(ulong a) {
    uint sign = (uint)(a >> 32) & 0x80000000u;
    if (sf64_isnan(a)) return 0x7fc00000u;
    int e = ((int)(a >> 52) & 0x7ff) - 896;
    if (e >= 0xff) return sign | 0x7f800000u;
    // Leading one in bit 63, as for binary64, but 24 bits are kept. Zero and
    // binary64 subnormals gain a hidden one: far below half a step all the same.
    ulong sig = ((a & SF64_FRAC) | SF64_HIDDEN) << 11;
    if (e < 1) {
        sig = sf64_shift_jam(sig, (uint)(1 - e));
        e = 1;
    }
    ulong below = (1ul << 40) - 1ul;
    uint up = (uint)(((sig & below) + (below >> 1) + ((sig >> 40) & 1ul)) >> 40);
    return sign | (((uint)(e - 1) << 23) + (uint)(sig >> 40) + up);
}

struct f64 {
    ulong bits;
};

struct f32 {
    uint bits;
};

static inline f32 cast_wrap(f64 a) {
    return f32{sf64_to_float_bits(a.bits)};
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
kernel void cast_f64_to_f32(
    device const ulong* a_in [[buffer(0)]],
    device uint* out [[buffer(4)]],
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
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        f32 r = cast_wrap(a);
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
}

// out = cast_wrap(a)
kernel void cast_f64_to_f32_pending(
    device const ulong* a_in [[buffer(0)]],
    device uint* out [[buffer(4)]],
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
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        f32 r = cast_wrap(a);
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
}

// out = cast_wrap(a)
kernel void cast_f64_to_f32_nulls(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device uint* out [[buffer(4)]],
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
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f32 r = cast_wrap(a);
        bool v = live && (va);
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
}

// out = cast_wrap(a)
kernel void cast_f64_to_f32_nulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device uint* out [[buffer(4)]],
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
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f32 r = cast_wrap(a);
        bool v = live && (va);
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
}
