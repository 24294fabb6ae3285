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
kernel void compact_scatter_u32(
    device const uint* in [[buffer(0)]],
    device const uint* selection [[buffer(1)]],
    device const ulong* offsets [[buffer(2)]],
    device uint* out [[buffer(3)]],
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
    // The simdgroup takes its 32 words one after the other, a lane a row. It reads eight before it writes the first, so
    // that memory has more to do at a time.
    ulong first = p.off + (tile * 256ul + (ulong)(sg * 32u)) * 32ul + (ulong)lane;
    for (uint i = 0u; i < 32u; i += 8u) {
        uint v[8];
        for (uint k = 0u; k < 8u; k++) {
            uint bits = simd_shuffle(sel, (ushort)(i + k));
            v[k] = ((bits >> lane) & 1u) != 0u ? in[first + (ulong)((i + k) * 32u)] : (uint)0;
        }
        for (uint k = 0u; k < 8u; k++) {
            uint bits = simd_shuffle(sel, (ushort)(i + k));
            uint skip = simd_shuffle(before, (ushort)(i + k));
            ulong to = base + (ulong)(skip + (uint)popcount(bits & ((1u << lane) - 1u)));
            if (((bits >> lane) & 1u) != 0u) out[to] = v[k];
        }
    }
}
