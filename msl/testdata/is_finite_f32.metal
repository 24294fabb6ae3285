#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

#define SIGN_BIT 0x80000000u

#define INFINITE 0x7f800000u

struct f32 {
    uint bits;
};

static inline bool is_finite(f32 a) {
    return (a.bits & ~SIGN_BIT) < INFINITE;
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

// out = is_finite(a), as bits
kernel void is_finite_f32(
    device const uint* a_in [[buffer(0)]],
    device uint* out [[buffer(4)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)(sg * 32u + lane);
    // All of a thread's rows are on their way before the first is used; a scalar is read once.
    uint a_one = p.a_stride == 0u ? a_in[p.a_off] : (uint)0;
    uint a_rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        bool live = row < n;
        a_rows[i] = live && p.a_stride != 0u ? a_in[p.a_off + row] : a_one;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        f32 a = f32{a_rows[i]};
        bool r = is_finite(a);
        uint word = ballot(live && r);
        if (lane == 0u && first < p.n) out[first >> 5] = word;
    }
}

// out = is_finite(a), as bits
kernel void is_finite_f32_pending(
    device const uint* a_in [[buffer(0)]],
    device uint* out [[buffer(4)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)(sg * 32u + lane);
    // All of a thread's rows are on their way before the first is used; a scalar is read once.
    uint a_one = p.a_stride == 0u ? a_in[p.a_off] : (uint)0;
    uint a_rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        bool live = row < n;
        a_rows[i] = live && p.a_stride != 0u ? a_in[p.a_off + row] : a_one;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        f32 a = f32{a_rows[i]};
        bool r = is_finite(a);
        uint word = ballot(live && r);
        if (lane == 0u && first < p.n) out[first >> 5] = word;
    }
}

// out = is_finite(a), as bits
kernel void is_finite_f32_nulls(
    device const uint* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device uint* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)(sg * 32u + lane);
    // All of a thread's rows are on their way before the first is used; a scalar is read once.
    uint a_one = p.a_stride == 0u ? a_in[p.a_off] : (uint)0;
    uint a_rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        bool live = row < n;
        a_rows[i] = live && p.a_stride != 0u ? a_in[p.a_off + row] : a_one;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        f32 a = f32{a_rows[i]};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        bool r = is_finite(a);
        uint word = ballot(live && r);
        if (lane == 0u && first < p.n) out[first >> 5] = word;
        bool v = live && (va);
        uint valid_word = ballot(v);
        if (lane == 0u && first < p.n) out_valid[first >> 5] = valid_word;
    }
}

// out = is_finite(a), as bits
kernel void is_finite_f32_nulls_pending(
    device const uint* a_in [[buffer(0)]],
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
    ulong base = group_index(tg) * 2048ul + (ulong)(sg * 32u + lane);
    // All of a thread's rows are on their way before the first is used; a scalar is read once.
    uint a_one = p.a_stride == 0u ? a_in[p.a_off] : (uint)0;
    uint a_rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        bool live = row < n;
        a_rows[i] = live && p.a_stride != 0u ? a_in[p.a_off + row] : a_one;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        f32 a = f32{a_rows[i]};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        bool r = is_finite(a);
        uint word = ballot(live && r);
        if (lane == 0u && first < p.n) out[first >> 5] = word;
        bool v = live && (va);
        uint valid_word = ballot(v);
        if (lane == 0u && first < p.n) out_valid[first >> 5] = valid_word;
    }
}
