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
    ulong n;
    ulong off;
    ulong valid;
    ulong start;
    uint tiles;
    uint stops;
    uint goes_on;
    uint pad;
};

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

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

// out = start + the sum of the rows up to each
kernel void cumulative_sum_u32(
    device const uint* in [[buffer(0)]],
    device uint* out [[buffer(2)]],
    device const ulong* states [[buffer(6)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint moved[256 * (8 + 1)];
    threadgroup ulong sums[8];
    ulong tile = group_index(tg);
    if (tile >= (ulong)p.tiles) return;
    ulong n = p.n;

    // A simdgroup reads its rows in order and deals them out by way of threadgroup memory: 8 to a lane, one after the
    // other, with a gap between lanes so that they use different banks.
    ulong base = tile * 2048ul + (ulong)(sg * 256u);
    threadgroup uint* mine = moved + sg * (32u * (8u + 1u));
    {
        uint v[8];
        for (uint j = 0u; j < 8u; j++) {
            ulong row = base + (ulong)(j * 32u + lane);
            v[j] = row < n ? in[p.off + row] : (uint)0;
        }
        for (uint j = 0u; j < 8u; j++) {
            uint e = j * 32u + lane;
            mine[e + e / 8u] = v[j];
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    ulong sum = 0ul;
    for (uint j = 0u; j < 8u; j++) {
        ulong x = (ulong)mine[lane * (8u + 1u) + j];
        sum += x;
    }

    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to += states[2ul * tile];
    for (uint i = 0u; i < sg; i++) {
        to += sums[i];
    }
    // Rows are read again from threadgroup memory: registers that held them would keep other threadgroups off.
    for (uint j = 0u; j < 8u; j++) {
        uint x = mine[lane * (8u + 1u) + j];
        to += (ulong)x;
        mine[lane * (8u + 1u) + j] = (uint)to;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0u; j < 8u; j++) {
        uint e = j * 32u + lane;
        ulong row = base + (ulong)e;
        if (row < p.n) out[row] = row < n ? mine[e + e / 8u] : (uint)0;
    }
}

// out = start + the sum of the rows up to each
kernel void cumulative_sum_u32_pending(
    device const uint* in [[buffer(0)]],
    device uint* out [[buffer(2)]],
    device const ulong* len [[buffer(5)]],
    device const ulong* states [[buffer(6)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint moved[256 * (8 + 1)];
    threadgroup ulong sums[8];
    ulong tile = group_index(tg);
    if (tile >= (ulong)p.tiles) return;
    ulong n = len[0] < p.n ? len[0] : p.n;

    // A simdgroup reads its rows in order and deals them out by way of threadgroup memory: 8 to a lane, one after the
    // other, with a gap between lanes so that they use different banks.
    ulong base = tile * 2048ul + (ulong)(sg * 256u);
    threadgroup uint* mine = moved + sg * (32u * (8u + 1u));
    {
        uint v[8];
        for (uint j = 0u; j < 8u; j++) {
            ulong row = base + (ulong)(j * 32u + lane);
            v[j] = row < n ? in[p.off + row] : (uint)0;
        }
        for (uint j = 0u; j < 8u; j++) {
            uint e = j * 32u + lane;
            mine[e + e / 8u] = v[j];
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    ulong sum = 0ul;
    for (uint j = 0u; j < 8u; j++) {
        ulong x = (ulong)mine[lane * (8u + 1u) + j];
        sum += x;
    }

    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to += states[2ul * tile];
    for (uint i = 0u; i < sg; i++) {
        to += sums[i];
    }
    // Rows are read again from threadgroup memory: registers that held them would keep other threadgroups off.
    for (uint j = 0u; j < 8u; j++) {
        uint x = mine[lane * (8u + 1u) + j];
        to += (ulong)x;
        mine[lane * (8u + 1u) + j] = (uint)to;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0u; j < 8u; j++) {
        uint e = j * 32u + lane;
        ulong row = base + (ulong)e;
        if (row < p.n) out[row] = row < n ? mine[e + e / 8u] : (uint)0;
    }
}

// out = start + the sum of the rows up to each
kernel void cumulative_sum_u32_nulls(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    device const ulong* states [[buffer(6)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint moved[256 * (8 + 1)];
    threadgroup ulong sums[8];
    threadgroup uint ends[8];
    ulong tile = group_index(tg);
    if (tile >= (ulong)p.tiles) return;
    ulong n = p.n;

    // A simdgroup reads its rows in order and deals them out by way of threadgroup memory: 8 to a lane, one after the
    // other, with a gap between lanes so that they use different banks.
    ulong base = tile * 2048ul + (ulong)(sg * 256u);
    threadgroup uint* mine = moved + sg * (32u * (8u + 1u));
    {
        uint v[8];
        for (uint j = 0u; j < 8u; j++) {
            ulong row = base + (ulong)(j * 32u + lane);
            v[j] = row < n ? in[p.off + row] : (uint)0;
        }
        for (uint j = 0u; j < 8u; j++) {
            uint e = j * 32u + lane;
            mine[e + e / 8u] = v[j];
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    ulong first = base + (ulong)(lane * 8u);
    uint k = first >= n ? 0u : n - first < 8ul ? (uint)(n - first) : 8u;
    uint live = k != 0u ? bits_at(valid, p.valid + first, k) : 0u;
    bool ended = k != 0u && live != low_bits(k);
    ulong sum = 0ul;
    for (uint j = 0u; j < 8u; j++) {
        ulong x = (ulong)mine[lane * (8u + 1u) + j];
        sum += ((live >> j) & 1u) != 0u ? x : 0ul;
    }

    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    uint ending = ballot(ended);
    if (lane == 0u) ends[sg] = ending;
    ended = (ending & ((1u << lane) - 1u)) != 0u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to += states[2ul * tile];
    ended = ended || states[2ul * tile + 1ul] != 0ul;
    for (uint i = 0u; i < sg; i++) {
        to += sums[i];
        ended = ended || ends[i] != 0u;
    }
    ended = ended && p.stops != 0u;
    uint bits = 0u;
    // Rows are read again from threadgroup memory: registers that held them would keep other threadgroups off.
    for (uint j = 0u; j < 8u; j++) {
        uint x = mine[lane * (8u + 1u) + j];
        bool valid_row = ((live >> j) & 1u) != 0u;
        ended = ended || (p.stops != 0u && !valid_row);
        valid_row = valid_row && !ended;
        bits |= valid_row ? 1u << j : 0u;
        if (((live >> j) & 1u) == 0u) x = (uint)0;
        to += (ulong)x;
        mine[lane * (8u + 1u) + j] = (uint)to;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0u; j < 8u; j++) {
        uint e = j * 32u + lane;
        ulong row = base + (ulong)e;
        if (row < p.n) out[row] = row < n ? mine[e + e / 8u] : (uint)0;
    }
    // The bits of 4 lanes are a word.
    bits <<= 8u * (lane & 3u);
    for (ushort d = 1; d <= 3; d <<= 1) bits |= simd_shuffle_xor(bits, d);
    if ((lane & 3u) == 0u && first < p.n) out_valid[first >> 5] = bits;
}

// out = start + the sum of the rows up to each
kernel void cumulative_sum_u32_nulls_pending(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    device const ulong* len [[buffer(5)]],
    device const ulong* states [[buffer(6)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup uint moved[256 * (8 + 1)];
    threadgroup ulong sums[8];
    threadgroup uint ends[8];
    ulong tile = group_index(tg);
    if (tile >= (ulong)p.tiles) return;
    ulong n = len[0] < p.n ? len[0] : p.n;

    // A simdgroup reads its rows in order and deals them out by way of threadgroup memory: 8 to a lane, one after the
    // other, with a gap between lanes so that they use different banks.
    ulong base = tile * 2048ul + (ulong)(sg * 256u);
    threadgroup uint* mine = moved + sg * (32u * (8u + 1u));
    {
        uint v[8];
        for (uint j = 0u; j < 8u; j++) {
            ulong row = base + (ulong)(j * 32u + lane);
            v[j] = row < n ? in[p.off + row] : (uint)0;
        }
        for (uint j = 0u; j < 8u; j++) {
            uint e = j * 32u + lane;
            mine[e + e / 8u] = v[j];
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    ulong first = base + (ulong)(lane * 8u);
    uint k = first >= n ? 0u : n - first < 8ul ? (uint)(n - first) : 8u;
    uint live = k != 0u ? bits_at(valid, p.valid + first, k) : 0u;
    bool ended = k != 0u && live != low_bits(k);
    ulong sum = 0ul;
    for (uint j = 0u; j < 8u; j++) {
        ulong x = (ulong)mine[lane * (8u + 1u) + j];
        sum += ((live >> j) & 1u) != 0u ? x : 0ul;
    }

    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    uint ending = ballot(ended);
    if (lane == 0u) ends[sg] = ending;
    ended = (ending & ((1u << lane) - 1u)) != 0u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to += states[2ul * tile];
    ended = ended || states[2ul * tile + 1ul] != 0ul;
    for (uint i = 0u; i < sg; i++) {
        to += sums[i];
        ended = ended || ends[i] != 0u;
    }
    ended = ended && p.stops != 0u;
    uint bits = 0u;
    // Rows are read again from threadgroup memory: registers that held them would keep other threadgroups off.
    for (uint j = 0u; j < 8u; j++) {
        uint x = mine[lane * (8u + 1u) + j];
        bool valid_row = ((live >> j) & 1u) != 0u;
        ended = ended || (p.stops != 0u && !valid_row);
        valid_row = valid_row && !ended;
        bits |= valid_row ? 1u << j : 0u;
        if (((live >> j) & 1u) == 0u) x = (uint)0;
        to += (ulong)x;
        mine[lane * (8u + 1u) + j] = (uint)to;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0u; j < 8u; j++) {
        uint e = j * 32u + lane;
        ulong row = base + (ulong)e;
        if (row < p.n) out[row] = row < n ? mine[e + e / 8u] : (uint)0;
    }
    // The bits of 4 lanes are a word.
    bits <<= 8u * (lane & 3u);
    for (ushort d = 1; d <= 3; d <<= 1) bits |= simd_shuffle_xor(bits, d);
    if ((lane & 3u) == 0u && first < p.n) out_valid[first >> 5] = bits;
}
