#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
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
    uint tiles;
    uint pad;
};

// Exclusive scan of the tiles' counts, and their total.
kernel void compact_scan(
    device const uint* counts [[buffer(0)]],
    device ulong* offsets [[buffer(1)]],
    device ulong* total [[buffer(2)]],
    constant Args& p [[buffer(3)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup ulong part[8];
    if (group_index(tg) != 0ul) return;
    // Each thread scans tiles [begin, end).
    ulong each = ((ulong)p.tiles + 256ul - 1ul) / 256ul;
    ulong begin = (ulong)(sg * 32u + lane) * each;
    ulong end = begin + each < (ulong)p.tiles ? begin + each : (ulong)p.tiles;
    ulong sum = 0ul;
    for (ulong i = begin; i < end; i++) sum += (ulong)counts[i];
    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) part[sg] = to;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to -= sum;
    ulong all = 0ul;
    for (uint i = 0u; i < 8u; i++) {
        if (i < sg) to += part[i];
        all += part[i];
    }
    for (ulong i = begin; i < end; i++) {
        offsets[i] = to;
        to += (ulong)counts[i];
    }
    if (sg == 0u && lane == 0u) total[0] = all;
}
