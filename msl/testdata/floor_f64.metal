#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

#define SIGN_BIT 0x8000000000000000ul

#define ONE 0x3ff0000000000000ul

#define BIAS 1023

#define FRACTION 52

struct f64 {
    ulong bits;
};

// An integer near a, with a's sign: the mode is the floor (0), the ceiling, towards zero, away from it, or the nearest,
// where ties go down (4), up, towards zero, away from it, to the even or to the odd one (9).
static inline f64 integral(f64 a, uint mode) {
    ulong sign = a.bits & SIGN_BIT, size = a.bits ^ sign;
    if (size == 0 || size >= (ulong)(BIAS + FRACTION) << FRACTION) return a;
    ulong whole = 0, step = ONE;
    bool odd = false, tie, more;
    if (size < ONE) {
        ulong middle = (ulong)(BIAS - 1) << FRACTION;
        tie = size == middle;
        more = size > middle;
    } else {
        uint places = (uint)(BIAS + FRACTION) - (uint)(size >> FRACTION);
        step = (ulong)1 << places;
        ulong rest = size & (step - 1);
        if (rest == 0) return a;
        whole = size - rest;
        odd = (size & step) != 0;
        tie = rest == step >> 1;
        more = rest > step >> 1;
    }
    bool away = mode == 3u || mode == 7u || mode == (sign != 0 ? 0u : 1u) || mode == (sign != 0 ? 4u : 5u) ||
                mode == (odd ? 8u : 9u);
    if (mode >= 4u && !tie) away = more;
    return f64{sign | (away ? whole + step : whole)};
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

// out = integral(a, 0u)
kernel void floor_f64(
    device const ulong* a_in [[buffer(0)]],
    device ulong* out [[buffer(4)]],
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
        f64 r = integral(a, 0u);
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
}

// out = integral(a, 0u)
kernel void floor_f64_pending(
    device const ulong* a_in [[buffer(0)]],
    device ulong* out [[buffer(4)]],
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
        f64 r = integral(a, 0u);
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
}

// out = integral(a, 0u)
kernel void floor_f64_nulls(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device ulong* out [[buffer(4)]],
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
        f64 r = integral(a, 0u);
        bool v = live && (va);
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
}

// out = integral(a, 0u)
kernel void floor_f64_nulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device ulong* out [[buffer(4)]],
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
        f64 r = integral(a, 0u);
        bool v = live && (va);
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
}
