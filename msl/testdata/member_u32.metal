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

struct Args {
    ulong n;
    ulong off;
    ulong valid;
    ulong set[256];
    uint stride;
    uint size;
    uint null_found;
    uint only_found;
};

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// out = in[row] is in the set
kernel void member_u32(
    device const uint* in [[buffer(0)]],
    device uint* out [[buffer(2)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    // The set's values in order, the last repeated until their number is a power of two.
    threadgroup uint members[256];
    uint tid = sg * 32u + lane;
    if (tid < p.size) members[tid] = (uint)p.set[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong n = p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)tid;
    uint rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        rows[i] = row < n ? in[p.off + row * p.stride] : (uint)0;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        uint a = (uint)rows[i];
        uint at = 0u;
        for (uint half_size = p.size >> 1; half_size != 0u; half_size >>= 1) {
            if (members[at + half_size] <= a) at += half_size;
        }
        bool v = live;
        bool found = v && p.size != 0u && members[at] == a;
        uint word = ballot(found || (live && !v && p.null_found != 0u));
        if (lane == 0u && first < p.n) out[first >> 5] = word;
    }
}

// out = in[row] is in the set
kernel void member_u32_emit(
    device const uint* in [[buffer(0)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    // The set's values in order, the last repeated until their number is a power of two.
    threadgroup uint members[256];
    uint tid = sg * 32u + lane;
    if (tid < p.size) members[tid] = (uint)p.set[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong n = p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)tid;
    uint rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        rows[i] = row < n ? in[p.off + row * p.stride] : (uint)0;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        uint a = (uint)rows[i];
        uint at = 0u;
        for (uint half_size = p.size >> 1; half_size != 0u; half_size >>= 1) {
            if (members[at + half_size] <= a) at += half_size;
        }
        bool v = live;
        bool found = v && p.size != 0u && members[at] == a;
        uint word = ballot(found || (live && !v && p.null_found != 0u));
        if (lane == 0u && first < p.n) out[first >> 5] = word;
        uint valid_word = ballot(v && (found || p.only_found == 0u));
        if (lane == 0u && first < p.n) out_valid[first >> 5] = valid_word;
    }
}

// out = in[row] is in the set
kernel void member_u32_pending(
    device const uint* in [[buffer(0)]],
    device uint* out [[buffer(2)]],
    device const ulong* len [[buffer(4)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    // The set's values in order, the last repeated until their number is a power of two.
    threadgroup uint members[256];
    uint tid = sg * 32u + lane;
    if (tid < p.size) members[tid] = (uint)p.set[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)tid;
    uint rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        rows[i] = row < n ? in[p.off + row * p.stride] : (uint)0;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        uint a = (uint)rows[i];
        uint at = 0u;
        for (uint half_size = p.size >> 1; half_size != 0u; half_size >>= 1) {
            if (members[at + half_size] <= a) at += half_size;
        }
        bool v = live;
        bool found = v && p.size != 0u && members[at] == a;
        uint word = ballot(found || (live && !v && p.null_found != 0u));
        if (lane == 0u && first < p.n) out[first >> 5] = word;
    }
}

// out = in[row] is in the set
kernel void member_u32_emit_pending(
    device const uint* in [[buffer(0)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    device const ulong* len [[buffer(4)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    // The set's values in order, the last repeated until their number is a power of two.
    threadgroup uint members[256];
    uint tid = sg * 32u + lane;
    if (tid < p.size) members[tid] = (uint)p.set[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)tid;
    uint rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        rows[i] = row < n ? in[p.off + row * p.stride] : (uint)0;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        uint a = (uint)rows[i];
        uint at = 0u;
        for (uint half_size = p.size >> 1; half_size != 0u; half_size >>= 1) {
            if (members[at + half_size] <= a) at += half_size;
        }
        bool v = live;
        bool found = v && p.size != 0u && members[at] == a;
        uint word = ballot(found || (live && !v && p.null_found != 0u));
        if (lane == 0u && first < p.n) out[first >> 5] = word;
        uint valid_word = ballot(v && (found || p.only_found == 0u));
        if (lane == 0u && first < p.n) out_valid[first >> 5] = valid_word;
    }
}

// out = in[row] is in the set
kernel void member_u32_nulls(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uint* out [[buffer(2)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    // The set's values in order, the last repeated until their number is a power of two.
    threadgroup uint members[256];
    uint tid = sg * 32u + lane;
    if (tid < p.size) members[tid] = (uint)p.set[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong n = p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)tid;
    uint rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        rows[i] = row < n ? in[p.off + row * p.stride] : (uint)0;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        uint a = (uint)rows[i];
        uint at = 0u;
        for (uint half_size = p.size >> 1; half_size != 0u; half_size >>= 1) {
            if (members[at + half_size] <= a) at += half_size;
        }
        bool v = live && bit_at(valid, p.valid + row * p.stride);
        bool found = v && p.size != 0u && members[at] == a;
        uint word = ballot(found || (live && !v && p.null_found != 0u));
        if (lane == 0u && first < p.n) out[first >> 5] = word;
    }
}

// out = in[row] is in the set
kernel void member_u32_nulls_emit(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    // The set's values in order, the last repeated until their number is a power of two.
    threadgroup uint members[256];
    uint tid = sg * 32u + lane;
    if (tid < p.size) members[tid] = (uint)p.set[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong n = p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)tid;
    uint rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        rows[i] = row < n ? in[p.off + row * p.stride] : (uint)0;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        uint a = (uint)rows[i];
        uint at = 0u;
        for (uint half_size = p.size >> 1; half_size != 0u; half_size >>= 1) {
            if (members[at + half_size] <= a) at += half_size;
        }
        bool v = live && bit_at(valid, p.valid + row * p.stride);
        bool found = v && p.size != 0u && members[at] == a;
        uint word = ballot(found || (live && !v && p.null_found != 0u));
        if (lane == 0u && first < p.n) out[first >> 5] = word;
        uint valid_word = ballot(v && (found || p.only_found == 0u));
        if (lane == 0u && first < p.n) out_valid[first >> 5] = valid_word;
    }
}

// out = in[row] is in the set
kernel void member_u32_nulls_pending(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uint* out [[buffer(2)]],
    device const ulong* len [[buffer(4)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    // The set's values in order, the last repeated until their number is a power of two.
    threadgroup uint members[256];
    uint tid = sg * 32u + lane;
    if (tid < p.size) members[tid] = (uint)p.set[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)tid;
    uint rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        rows[i] = row < n ? in[p.off + row * p.stride] : (uint)0;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        uint a = (uint)rows[i];
        uint at = 0u;
        for (uint half_size = p.size >> 1; half_size != 0u; half_size >>= 1) {
            if (members[at + half_size] <= a) at += half_size;
        }
        bool v = live && bit_at(valid, p.valid + row * p.stride);
        bool found = v && p.size != 0u && members[at] == a;
        uint word = ballot(found || (live && !v && p.null_found != 0u));
        if (lane == 0u && first < p.n) out[first >> 5] = word;
    }
}

// out = in[row] is in the set
kernel void member_u32_nulls_emit_pending(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    device const ulong* len [[buffer(4)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    // The set's values in order, the last repeated until their number is a power of two.
    threadgroup uint members[256];
    uint tid = sg * 32u + lane;
    if (tid < p.size) members[tid] = (uint)p.set[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong base = group_index(tg) * 2048ul + (ulong)tid;
    uint rows[8];
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        ulong row = base + (ulong)(i * 256u);
        rows[i] = row < n ? in[p.off + row * p.stride] : (uint)0;
    }
    #pragma unroll
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * 256u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        uint a = (uint)rows[i];
        uint at = 0u;
        for (uint half_size = p.size >> 1; half_size != 0u; half_size >>= 1) {
            if (members[at + half_size] <= a) at += half_size;
        }
        bool v = live && bit_at(valid, p.valid + row * p.stride);
        bool found = v && p.size != 0u && members[at] == a;
        uint word = ballot(found || (live && !v && p.null_found != 0u));
        if (lane == 0u && first < p.n) out[first >> 5] = word;
        uint valid_word = ballot(v && (found || p.only_found == 0u));
        if (lane == 0u && first < p.n) out_valid[first >> 5] = valid_word;
    }
}
