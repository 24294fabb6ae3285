#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

struct Args {
    ulong n;
    ulong off;
};

// Selected rows of a tile to their places.
kernel void compact_scatter_u64(
    device const ulong* in [[buffer(0)]],
    device const uint* selection [[buffer(1)]],
    device const ulong* offsets [[buffer(2)]],
    device ulong* out [[buffer(3)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint part[8];
    ulong tile = group_index(tg);
    if (tile * 8192ul >= p.n) return;
    ulong word = tile * 256ul + (ulong)(sg * 32u + lane);
    uint sel = word * 32ul < p.n ? selection[word] : 0u;
    // Selected rows of the tile before this thread's word.
    uint count = (uint)popcount(sel);
    uint before = simd_prefix_exclusive_sum(count);
    if (lane == 31u) part[sg] = before + count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0u; i < sg; i++) before += part[i];
    ulong base = offsets[tile];
    // The simdgroup takes its 32 words one after the other, a lane a row.
    for (ushort i = 0; i < 32; i++) {
        uint bits = simd_shuffle(sel, i);
        uint skip = simd_shuffle(before, i);
        if (((bits >> lane) & 1u) != 0u) {
            ulong row = (tile * 256ul + (ulong)(sg * 32u + (uint)i)) * 32ul + (ulong)lane;
            ulong to = base + (ulong)(skip + (uint)popcount(bits & ((1u << lane) - 1u)));
            out[to] = in[p.off + row];
        }
    }
}
