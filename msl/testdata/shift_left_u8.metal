#include <metal_stdlib>
using namespace metal;

#define ERR_SHIFT 16u

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

// Shifts by as many bits as a number has do nothing.
static inline uchar shift_left(uchar a, uchar b) {
    return b >= 8 ? a : (uchar)((uint)a << (uint)b);
}

static inline uchar shift_left_checked(uchar a, uchar b, thread uint& bad) {
    if (b >= 8) bad |= ERR_SHIFT;
    return shift_left(a, b);
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

// out = shift_left_checked(a, b, bad)
kernel void shift_left_u8(
    device const uchar* a_in [[buffer(0)]],
    device const uchar* b_in [[buffer(2)]],
    device uchar* out [[buffer(4)]],
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
        uchar a = live ? a_in[p.a_off + row * p.a_stride] : (uchar)0;
        uchar b = live ? b_in[p.b_off + row * p.b_stride] : (uchar)0;
        uint bad = 0u;
        uchar r = shift_left_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (uchar)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_left_checked(a, b, bad)
kernel void shift_left_u8_pending(
    device const uchar* a_in [[buffer(0)]],
    device const uchar* b_in [[buffer(2)]],
    device uchar* out [[buffer(4)]],
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
        uchar a = live ? a_in[p.a_off + row * p.a_stride] : (uchar)0;
        uchar b = live ? b_in[p.b_off + row * p.b_stride] : (uchar)0;
        uint bad = 0u;
        uchar r = shift_left_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (uchar)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_left_checked(a, b, bad)
kernel void shift_left_u8_bnulls(
    device const uchar* a_in [[buffer(0)]],
    device const uchar* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device uchar* out [[buffer(4)]],
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
        uchar a = live ? a_in[p.a_off + row * p.a_stride] : (uchar)0;
        bool va = live;
        uchar b = live ? b_in[p.b_off + row * p.b_stride] : (uchar)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        uchar r = shift_left_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (uchar)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_left_checked(a, b, bad)
kernel void shift_left_u8_bnulls_pending(
    device const uchar* a_in [[buffer(0)]],
    device const uchar* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device uchar* out [[buffer(4)]],
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
        uchar a = live ? a_in[p.a_off + row * p.a_stride] : (uchar)0;
        bool va = live;
        uchar b = live ? b_in[p.b_off + row * p.b_stride] : (uchar)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        uchar r = shift_left_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (uchar)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_left_checked(a, b, bad)
kernel void shift_left_u8_anulls(
    device const uchar* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const uchar* b_in [[buffer(2)]],
    device uchar* out [[buffer(4)]],
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
        uchar a = live ? a_in[p.a_off + row * p.a_stride] : (uchar)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        uchar b = live ? b_in[p.b_off + row * p.b_stride] : (uchar)0;
        bool vb = live;
        uint bad = 0u;
        uchar r = shift_left_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (uchar)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_left_checked(a, b, bad)
kernel void shift_left_u8_anulls_pending(
    device const uchar* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const uchar* b_in [[buffer(2)]],
    device uchar* out [[buffer(4)]],
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
        uchar a = live ? a_in[p.a_off + row * p.a_stride] : (uchar)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        uchar b = live ? b_in[p.b_off + row * p.b_stride] : (uchar)0;
        bool vb = live;
        uint bad = 0u;
        uchar r = shift_left_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (uchar)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_left_checked(a, b, bad)
kernel void shift_left_u8_nulls(
    device const uchar* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const uchar* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device uchar* out [[buffer(4)]],
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
        uchar a = live ? a_in[p.a_off + row * p.a_stride] : (uchar)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        uchar b = live ? b_in[p.b_off + row * p.b_stride] : (uchar)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        uchar r = shift_left_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (uchar)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_left_checked(a, b, bad)
kernel void shift_left_u8_nulls_pending(
    device const uchar* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const uchar* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device uchar* out [[buffer(4)]],
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
        uchar a = live ? a_in[p.a_off + row * p.a_stride] : (uchar)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        uchar b = live ? b_in[p.b_off + row * p.b_stride] : (uchar)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        uchar r = shift_left_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (uchar)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}
