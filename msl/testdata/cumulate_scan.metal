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

// The sum of the lanes up to this one.
static inline ulong prefix_sum(ulong v, uint lane) {
    for (ushort d = 1; d < 32; d <<= 1) {
        ulong below = as_type<ulong>(simd_shuffle_up(as_type<uint2>(v), d));
        if (lane >= (uint)d) v += below;
    }
    return v;
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

// Exclusive scan of the tiles' states in place, from the start or from where the chunk before ended.
kernel void cumulate_scan(
    device ulong* states [[buffer(6)]],
    device const ulong* carry [[buffer(7)]],
    device ulong* next [[buffer(8)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup ulong sums[8];
    threadgroup uint marks[8];
    if (group_index(tg) != 0ul) return;
    // Each thread scans tiles [begin, end).
    ulong each = ((ulong)p.tiles + 256ul - 1ul) / 256ul;
    ulong begin = (ulong)(sg * 32u + lane) * each;
    ulong end = begin + each < (ulong)p.tiles ? begin + each : (ulong)p.tiles;
    ulong sum = 0ul;
    bool mark = false;
    for (ulong i = begin; i < end; i++) {
        sum += states[2ul * i];
        mark = mark || states[2ul * i + 1ul] != 0ul;
    }
    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    uint marking = ballot(mark);
    if (lane == 0u) marks[sg] = marking;
    mark = (marking & ((1u << lane) - 1u)) != 0u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong all = p.goes_on != 0u ? carry[0] : p.start;
    bool marked = p.goes_on != 0u && carry[1] != 0ul;
    to += all;
    mark = mark || marked;
    for (uint i = 0u; i < 8u; i++) {
        if (i < sg) {
            to += sums[i];
            mark = mark || marks[i] != 0u;
        }
        all += sums[i];
        marked = marked || marks[i] != 0u;
    }
    for (ulong i = begin; i < end; i++) {
        ulong own = states[2ul * i];
        bool own_mark = states[2ul * i + 1ul] != 0ul;
        states[2ul * i] = to;
        states[2ul * i + 1ul] = (ulong)mark;
        to += own;
        mark = mark || own_mark;
    }
    if (sg == 0u && lane == 0u) {
        next[0] = all;
        next[1] = (ulong)marked;
    }
}
