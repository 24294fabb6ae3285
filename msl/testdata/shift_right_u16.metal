#include <metal_stdlib>
using namespace metal;

#define ERR_SHIFT 16u

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

static inline ushort shift_right(ushort a, ushort b) {
    return b >= 16 ? a : (ushort)(a >> (uint)b);
}

static inline ushort shift_right_checked(ushort a, ushort b, thread uint& bad) {
    if (b >= 16) bad |= ERR_SHIFT;
    return shift_right(a, b);
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

// out = shift_right_checked(a, b, bad)
kernel void shift_right_u16(
    device const ushort* a_in [[buffer(0)]],
    device const ushort* b_in [[buffer(2)]],
    device ushort* out [[buffer(4)]],
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
        ushort a = live ? a_in[p.a_off + row * p.a_stride] : (ushort)0;
        ushort b = live ? b_in[p.b_off + row * p.b_stride] : (ushort)0;
        uint bad = 0u;
        ushort r = shift_right_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (ushort)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_right_checked(a, b, bad)
kernel void shift_right_u16_pending(
    device const ushort* a_in [[buffer(0)]],
    device const ushort* b_in [[buffer(2)]],
    device ushort* out [[buffer(4)]],
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
        ushort a = live ? a_in[p.a_off + row * p.a_stride] : (ushort)0;
        ushort b = live ? b_in[p.b_off + row * p.b_stride] : (ushort)0;
        uint bad = 0u;
        ushort r = shift_right_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (ushort)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_right_checked(a, b, bad)
kernel void shift_right_u16_bnulls(
    device const ushort* a_in [[buffer(0)]],
    device const ushort* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ushort* out [[buffer(4)]],
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
        ushort a = live ? a_in[p.a_off + row * p.a_stride] : (ushort)0;
        bool va = live;
        ushort b = live ? b_in[p.b_off + row * p.b_stride] : (ushort)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        ushort r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (ushort)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_right_checked(a, b, bad)
kernel void shift_right_u16_bnulls_pending(
    device const ushort* a_in [[buffer(0)]],
    device const ushort* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ushort* out [[buffer(4)]],
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
        ushort a = live ? a_in[p.a_off + row * p.a_stride] : (ushort)0;
        bool va = live;
        ushort b = live ? b_in[p.b_off + row * p.b_stride] : (ushort)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        ushort r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (ushort)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_right_checked(a, b, bad)
kernel void shift_right_u16_anulls(
    device const ushort* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ushort* b_in [[buffer(2)]],
    device ushort* out [[buffer(4)]],
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
        ushort a = live ? a_in[p.a_off + row * p.a_stride] : (ushort)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        ushort b = live ? b_in[p.b_off + row * p.b_stride] : (ushort)0;
        bool vb = live;
        uint bad = 0u;
        ushort r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (ushort)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_right_checked(a, b, bad)
kernel void shift_right_u16_anulls_pending(
    device const ushort* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ushort* b_in [[buffer(2)]],
    device ushort* out [[buffer(4)]],
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
        ushort a = live ? a_in[p.a_off + row * p.a_stride] : (ushort)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        ushort b = live ? b_in[p.b_off + row * p.b_stride] : (ushort)0;
        bool vb = live;
        uint bad = 0u;
        ushort r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (ushort)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_right_checked(a, b, bad)
kernel void shift_right_u16_nulls(
    device const ushort* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ushort* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ushort* out [[buffer(4)]],
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
        ushort a = live ? a_in[p.a_off + row * p.a_stride] : (ushort)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        ushort b = live ? b_in[p.b_off + row * p.b_stride] : (ushort)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        ushort r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (ushort)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_right_checked(a, b, bad)
kernel void shift_right_u16_nulls_pending(
    device const ushort* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ushort* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ushort* out [[buffer(4)]],
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
        ushort a = live ? a_in[p.a_off + row * p.a_stride] : (ushort)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        ushort b = live ? b_in[p.b_off + row * p.b_stride] : (ushort)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        ushort r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (ushort)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}
