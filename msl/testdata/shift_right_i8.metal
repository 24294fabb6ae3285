#include <metal_stdlib>
using namespace metal;

#define ERR_SHIFT 16u

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

static inline char shift_right(char a, char b) {
    return b < 0 || b >= 7 ? a : (char)(a >> (uint)b);
}

static inline char shift_right_checked(char a, char b, thread uint& bad) {
    if (b < 0 || b >= 7) bad |= ERR_SHIFT;
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
kernel void shift_right_i8(
    device const char* a_in [[buffer(0)]],
    device const char* b_in [[buffer(2)]],
    device char* out [[buffer(4)]],
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
        char a = live ? a_in[p.a_off + row * p.a_stride] : (char)0;
        char b = live ? b_in[p.b_off + row * p.b_stride] : (char)0;
        uint bad = 0u;
        char r = shift_right_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (char)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_right_checked(a, b, bad)
kernel void shift_right_i8_pending(
    device const char* a_in [[buffer(0)]],
    device const char* b_in [[buffer(2)]],
    device char* out [[buffer(4)]],
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
        char a = live ? a_in[p.a_off + row * p.a_stride] : (char)0;
        char b = live ? b_in[p.b_off + row * p.b_stride] : (char)0;
        uint bad = 0u;
        char r = shift_right_checked(a, b, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r : (char)0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = shift_right_checked(a, b, bad)
kernel void shift_right_i8_bnulls(
    device const char* a_in [[buffer(0)]],
    device const char* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device char* out [[buffer(4)]],
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
        char a = live ? a_in[p.a_off + row * p.a_stride] : (char)0;
        bool va = live;
        char b = live ? b_in[p.b_off + row * p.b_stride] : (char)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        char r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (char)0;
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
kernel void shift_right_i8_bnulls_pending(
    device const char* a_in [[buffer(0)]],
    device const char* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device char* out [[buffer(4)]],
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
        char a = live ? a_in[p.a_off + row * p.a_stride] : (char)0;
        bool va = live;
        char b = live ? b_in[p.b_off + row * p.b_stride] : (char)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        char r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (char)0;
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
kernel void shift_right_i8_anulls(
    device const char* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const char* b_in [[buffer(2)]],
    device char* out [[buffer(4)]],
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
        char a = live ? a_in[p.a_off + row * p.a_stride] : (char)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        char b = live ? b_in[p.b_off + row * p.b_stride] : (char)0;
        bool vb = live;
        uint bad = 0u;
        char r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (char)0;
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
kernel void shift_right_i8_anulls_pending(
    device const char* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const char* b_in [[buffer(2)]],
    device char* out [[buffer(4)]],
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
        char a = live ? a_in[p.a_off + row * p.a_stride] : (char)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        char b = live ? b_in[p.b_off + row * p.b_stride] : (char)0;
        bool vb = live;
        uint bad = 0u;
        char r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (char)0;
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
kernel void shift_right_i8_nulls(
    device const char* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const char* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device char* out [[buffer(4)]],
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
        char a = live ? a_in[p.a_off + row * p.a_stride] : (char)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        char b = live ? b_in[p.b_off + row * p.b_stride] : (char)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        char r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (char)0;
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
kernel void shift_right_i8_nulls_pending(
    device const char* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const char* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device char* out [[buffer(4)]],
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
        char a = live ? a_in[p.a_off + row * p.a_stride] : (char)0;
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        char b = live ? b_in[p.b_off + row * p.b_stride] : (char)0;
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uint bad = 0u;
        char r = shift_right_checked(a, b, bad);
        bool v = live && (va && vb);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r : (char)0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}
