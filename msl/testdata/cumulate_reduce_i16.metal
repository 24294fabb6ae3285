#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

// The value of the lane whose number differs by the bits of d.
static inline ulong shuffle_xor(ulong v, ushort d) {
    return as_type<ulong>(simd_shuffle_xor(as_type<uint2>(v), d));
}

struct Args {
    ulong n;
    ulong off;
    ulong valid;
    ulong start;
    uint tiles;
    uint stops;
    uint goes_on;
    uint pad;
};

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

// The sum of each tile's rows, and whether one of them is null.
kernel void cumulate_reduce_i16(
    device const short* in [[buffer(0)]],
    device ulong* states [[buffer(6)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup ulong sums[8];
    ulong tile = group_index(tg);
    if (tile >= (ulong)p.tiles) return;
    ulong n = p.n;
    ulong sum = 0ul;
    for (uint j = 0u; j < 8u; j++) {
        ulong row = tile * 2048ul + (ulong)(j * 256u + sg * 32u + lane);
        bool live = row < n;
        sum += live ? (ulong)in[p.off + row] : 0ul;
    }
    for (ushort d = 16; d > 0; d >>= 1) sum += shuffle_xor(sum, d);
    if (lane == 0u) sums[sg] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg != 0u || lane != 0u) return;
    ulong mark = 0ul;
    sum = 0ul;
    for (uint i = 0u; i < 8u; i++) {
        sum += sums[i];
    }
    states[2ul * tile] = sum;
    states[2ul * tile + 1ul] = mark;
}

// The sum of each tile's rows, and whether one of them is null.
kernel void cumulate_reduce_i16_pending(
    device const short* in [[buffer(0)]],
    device const ulong* len [[buffer(5)]],
    device ulong* states [[buffer(6)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup ulong sums[8];
    ulong tile = group_index(tg);
    if (tile >= (ulong)p.tiles) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong sum = 0ul;
    for (uint j = 0u; j < 8u; j++) {
        ulong row = tile * 2048ul + (ulong)(j * 256u + sg * 32u + lane);
        bool live = row < n;
        sum += live ? (ulong)in[p.off + row] : 0ul;
    }
    for (ushort d = 16; d > 0; d >>= 1) sum += shuffle_xor(sum, d);
    if (lane == 0u) sums[sg] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg != 0u || lane != 0u) return;
    ulong mark = 0ul;
    sum = 0ul;
    for (uint i = 0u; i < 8u; i++) {
        sum += sums[i];
    }
    states[2ul * tile] = sum;
    states[2ul * tile + 1ul] = mark;
}

// The sum of each tile's rows, and whether one of them is null.
kernel void cumulate_reduce_i16_nulls(
    device const short* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device ulong* states [[buffer(6)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup ulong sums[8];
    threadgroup uint ends[8];
    ulong tile = group_index(tg);
    if (tile >= (ulong)p.tiles) return;
    ulong n = p.n;
    ulong sum = 0ul;
    bool ended = false;
    for (uint j = 0u; j < 8u; j++) {
        ulong row = tile * 2048ul + (ulong)(j * 256u + sg * 32u + lane);
        bool live = row < n;
        if (live && !bit_at(valid, p.valid + row)) {
            live = false;
            ended = true;
        }
        sum += live ? (ulong)in[p.off + row] : 0ul;
    }
    for (ushort d = 16; d > 0; d >>= 1) sum += shuffle_xor(sum, d);
    if (lane == 0u) sums[sg] = sum;
    uint ending = ballot(ended);
    if (lane == 0u) ends[sg] = ending;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg != 0u || lane != 0u) return;
    ulong mark = 0ul;
    sum = 0ul;
    for (uint i = 0u; i < 8u; i++) {
        sum += sums[i];
        mark |= (ulong)ends[i];
    }
    states[2ul * tile] = sum;
    states[2ul * tile + 1ul] = mark;
}

// The sum of each tile's rows, and whether one of them is null.
kernel void cumulate_reduce_i16_nulls_pending(
    device const short* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device const ulong* len [[buffer(5)]],
    device ulong* states [[buffer(6)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup ulong sums[8];
    threadgroup uint ends[8];
    ulong tile = group_index(tg);
    if (tile >= (ulong)p.tiles) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong sum = 0ul;
    bool ended = false;
    for (uint j = 0u; j < 8u; j++) {
        ulong row = tile * 2048ul + (ulong)(j * 256u + sg * 32u + lane);
        bool live = row < n;
        if (live && !bit_at(valid, p.valid + row)) {
            live = false;
            ended = true;
        }
        sum += live ? (ulong)in[p.off + row] : 0ul;
    }
    for (ushort d = 16; d > 0; d >>= 1) sum += shuffle_xor(sum, d);
    if (lane == 0u) sums[sg] = sum;
    uint ending = ballot(ended);
    if (lane == 0u) ends[sg] = ending;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg != 0u || lane != 0u) return;
    ulong mark = 0ul;
    sum = 0ul;
    for (uint i = 0u; i < 8u; i++) {
        sum += sums[i];
        mark |= (ulong)ends[i];
    }
    states[2ul * tile] = sum;
    states[2ul * tile + 1ul] = mark;
}
