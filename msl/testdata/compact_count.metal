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
    ulong mask;
    ulong valid;
};

// Mask to selection words, and the selected rows of each tile.
kernel void compact_count(
    device const uint* mask [[buffer(0)]],
    device uint* selection [[buffer(2)]],
    device uint* counts [[buffer(3)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint part[8];
    ulong tile = group_index(tg);
    if (tile * 8192ul >= p.n) return;
    ulong n = p.n;
    ulong word = tile * 256ul + (ulong)(sg * 32u + lane);
    ulong row = word * 32ul;
    uint sel = 0u;
    if (row < n) {
        uint k = n - row < 32ul ? (uint)(n - row) : 32u;
        sel = bits_at(mask, p.mask + row, k);
    }
    if (row < p.n) selection[word] = sel;
    uint count = simd_sum((uint)popcount(sel));
    if (lane == 0u) part[sg] = count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u && lane == 0u) {
        for (uint i = 1u; i < 8u; i++) count += part[i];
        counts[tile] = count;
    }
}

// Mask to selection words, and the selected rows of each tile.
kernel void compact_count_pending(
    device const uint* mask [[buffer(0)]],
    device uint* selection [[buffer(2)]],
    device uint* counts [[buffer(3)]],
    device const ulong* len [[buffer(4)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint part[8];
    ulong tile = group_index(tg);
    if (tile * 8192ul >= p.n) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong word = tile * 256ul + (ulong)(sg * 32u + lane);
    ulong row = word * 32ul;
    uint sel = 0u;
    if (row < n) {
        uint k = n - row < 32ul ? (uint)(n - row) : 32u;
        sel = bits_at(mask, p.mask + row, k);
    }
    if (row < p.n) selection[word] = sel;
    uint count = simd_sum((uint)popcount(sel));
    if (lane == 0u) part[sg] = count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u && lane == 0u) {
        for (uint i = 1u; i < 8u; i++) count += part[i];
        counts[tile] = count;
    }
}

// Mask to selection words, and the selected rows of each tile.
kernel void compact_count_nulls(
    device const uint* mask [[buffer(0)]],
    device const uint* mask_valid [[buffer(1)]],
    device uint* selection [[buffer(2)]],
    device uint* counts [[buffer(3)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint part[8];
    ulong tile = group_index(tg);
    if (tile * 8192ul >= p.n) return;
    ulong n = p.n;
    ulong word = tile * 256ul + (ulong)(sg * 32u + lane);
    ulong row = word * 32ul;
    uint sel = 0u;
    if (row < n) {
        uint k = n - row < 32ul ? (uint)(n - row) : 32u;
        sel = bits_at(mask, p.mask + row, k);
        uint valid = bits_at(mask_valid, p.valid + row, k);
        sel &= valid;
    }
    if (row < p.n) selection[word] = sel;
    uint count = simd_sum((uint)popcount(sel));
    if (lane == 0u) part[sg] = count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u && lane == 0u) {
        for (uint i = 1u; i < 8u; i++) count += part[i];
        counts[tile] = count;
    }
}

// Mask to selection words, and the selected rows of each tile.
kernel void compact_count_nulls_emit(
    device const uint* mask [[buffer(0)]],
    device const uint* mask_valid [[buffer(1)]],
    device uint* selection [[buffer(2)]],
    device uint* counts [[buffer(3)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint part[8];
    ulong tile = group_index(tg);
    if (tile * 8192ul >= p.n) return;
    ulong n = p.n;
    ulong word = tile * 256ul + (ulong)(sg * 32u + lane);
    ulong row = word * 32ul;
    uint sel = 0u;
    if (row < n) {
        uint k = n - row < 32ul ? (uint)(n - row) : 32u;
        sel = bits_at(mask, p.mask + row, k);
        uint valid = bits_at(mask_valid, p.valid + row, k);
        sel = (sel & valid) | (~valid & low_bits(k));
    }
    if (row < p.n) selection[word] = sel;
    uint count = simd_sum((uint)popcount(sel));
    if (lane == 0u) part[sg] = count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u && lane == 0u) {
        for (uint i = 1u; i < 8u; i++) count += part[i];
        counts[tile] = count;
    }
}

// Mask to selection words, and the selected rows of each tile.
kernel void compact_count_nulls_pending(
    device const uint* mask [[buffer(0)]],
    device const uint* mask_valid [[buffer(1)]],
    device uint* selection [[buffer(2)]],
    device uint* counts [[buffer(3)]],
    device const ulong* len [[buffer(4)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint part[8];
    ulong tile = group_index(tg);
    if (tile * 8192ul >= p.n) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong word = tile * 256ul + (ulong)(sg * 32u + lane);
    ulong row = word * 32ul;
    uint sel = 0u;
    if (row < n) {
        uint k = n - row < 32ul ? (uint)(n - row) : 32u;
        sel = bits_at(mask, p.mask + row, k);
        uint valid = bits_at(mask_valid, p.valid + row, k);
        sel &= valid;
    }
    if (row < p.n) selection[word] = sel;
    uint count = simd_sum((uint)popcount(sel));
    if (lane == 0u) part[sg] = count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u && lane == 0u) {
        for (uint i = 1u; i < 8u; i++) count += part[i];
        counts[tile] = count;
    }
}

// Mask to selection words, and the selected rows of each tile.
kernel void compact_count_nulls_emit_pending(
    device const uint* mask [[buffer(0)]],
    device const uint* mask_valid [[buffer(1)]],
    device uint* selection [[buffer(2)]],
    device uint* counts [[buffer(3)]],
    device const ulong* len [[buffer(4)]],
    constant Args& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint part[8];
    ulong tile = group_index(tg);
    if (tile * 8192ul >= p.n) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong word = tile * 256ul + (ulong)(sg * 32u + lane);
    ulong row = word * 32ul;
    uint sel = 0u;
    if (row < n) {
        uint k = n - row < 32ul ? (uint)(n - row) : 32u;
        sel = bits_at(mask, p.mask + row, k);
        uint valid = bits_at(mask_valid, p.valid + row, k);
        sel = (sel & valid) | (~valid & low_bits(k));
    }
    if (row < p.n) selection[word] = sel;
    uint count = simd_sum((uint)popcount(sel));
    if (lane == 0u) part[sg] = count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u && lane == 0u) {
        for (uint i = 1u; i < 8u; i++) count += part[i];
        counts[tile] = count;
    }
}
