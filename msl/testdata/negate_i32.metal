#include <metal_stdlib>
using namespace metal;

#define ERR_OVERFLOW 1u

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

static inline int neg_wrap(int a) {
    return (int)((uint)0 - (uint)a);
}

static inline int neg_checked(int a, thread uint& bad) {
    if (a == (-2147483647 - 1)) bad |= ERR_OVERFLOW;
    return neg_wrap(a);
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

// out = neg_checked(a, bad)
kernel void negate_i32(
    device const int* a_in [[buffer(0)]],
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
        int a = live ? a_in[p.a_off + row * p.a_stride] : (int)0;
        uint bad = 0u;
        int r = neg_checked(a, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (int)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = neg_checked(a, bad)
kernel void negate_i32_pending(
    device const int* a_in [[buffer(0)]],
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
        int a = live ? a_in[p.a_off + row * p.a_stride] : (int)0;
        uint bad = 0u;
        int r = neg_checked(a, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (int)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = neg_checked(a, bad)
kernel void negate_i32_nulls(
    device const int* a_in [[buffer(0)]],
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
        int a = live ? a_in[p.a_off + row * p.a_stride] : (int)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        uint bad = 0u;
        int r = neg_checked(a, bad);
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

// out = neg_checked(a, bad)
kernel void negate_i32_nulls_pending(
    device const int* a_in [[buffer(0)]],
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
        int a = live ? a_in[p.a_off + row * p.a_stride] : (int)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        uint bad = 0u;
        int r = neg_checked(a, bad);
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
