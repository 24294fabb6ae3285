#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

// The n lowest bits set, n from 1 to 32.
static inline uint low_bits(uint n) {
    return 0xffffffffu >> (32u - n);
}

// n bits of a bitmap from bit i on, n from 1 to 32. Reads no word beyond the last of these bits.
static inline uint bits_at(device const uint* p, ulong i, uint n) {
    uint s = (uint)i & 31u;
    uint w = p[i >> 5] >> s;
    if (s + n > 32u) w |= p[(i >> 5) + 1ul] << (32u - s);
    return w & low_bits(n);
}

struct Args {
    ulong n;
    ulong off;
};

// Selected rows of a tile to their places.
kernel void compact_scatter_bool(
    device const uint* in [[buffer(0)]],
    device const uint* selection [[buffer(1)]],
    device const ulong* offsets [[buffer(2)]],
    device atomic_uint* out [[buffer(3)]],
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
    if (sel == 0u) return;
    ulong row = word * 32ul;
    uint k = p.n - row < 32ul ? (uint)(p.n - row) : 32u;
    uint x = bits_at(in, p.off + row, k);
    uint packed = 0u;
    uint at = 0u;
    for (uint left = sel; left != 0u; left &= left - 1u) {
        packed |= ((x >> (uint)ctz(left)) & 1u) << at;
        at++;
    }
    ulong to = base + (ulong)before;
    uint shift = (uint)to & 31u;
    uint low = packed << shift;
    uint high = shift != 0u ? packed >> (32u - shift) : 0u;
    if (low != 0u) atomic_fetch_or_explicit(out + (to >> 5), low, memory_order_relaxed);
    if (high != 0u) atomic_fetch_or_explicit(out + (to >> 5) + 1, high, memory_order_relaxed);
}
