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

// The value of the lane whose number differs by the bits of d.
static inline ulong shuffle_xor(ulong v, ushort d) {
    return as_type<ulong>(simd_shuffle_xor(as_type<uint2>(v), d));
}

struct Args {
    ulong n;
    ulong off;
    ulong valid;
    uint min_count;
    uint skip_nulls;
};

// Rows that are true.
struct State {
    ulong rows;
    ulong valid;
    ulong trues;
};

static inline State no_rows() {
    return State{0ul, 0ul, 0ul};
}

static inline State merge(State a, State b) {
    a.rows += b.rows;
    a.valid += b.valid;
    a.trues += b.trues;
    return a;
}

static inline State shuffle_state(State s, ushort d) {
    return State{shuffle_xor(s.rows, d), shuffle_xor(s.valid, d), shuffle_xor(s.trues, d)};
}

// any of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_any_bool(
    device const uint* in [[buffer(0)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    constant Args& p [[buffer(6)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    if (group_index(tg) != 0ul) return;
    ulong n = p.n;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    for (ulong first = 0ul; first < n; first += 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) s.rows += end - first;
        // 32 rows a thread.
        ulong row = first + (ulong)(tid * 32u);
        if (row >= end) continue;
        uint k = end - row < 32ul ? (uint)(end - row) : 32u;
        s.trues += (ulong)popcount(bits_at(in, p.off + row, k));
    }
    s.valid = s.rows;

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_trues[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_trues[sg] = s.trues;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_trues[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows || s.trues != 0ul);
        out[0] = ok ? (uint)(s.trues != 0ul) : (uint)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// any of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_any_bool_pending(
    device const uint* in [[buffer(0)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    device const ulong* len [[buffer(5)]],
    constant Args& p [[buffer(6)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    if (group_index(tg) != 0ul) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    for (ulong first = 0ul; first < n; first += 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) s.rows += end - first;
        // 32 rows a thread.
        ulong row = first + (ulong)(tid * 32u);
        if (row >= end) continue;
        uint k = end - row < 32ul ? (uint)(end - row) : 32u;
        s.trues += (ulong)popcount(bits_at(in, p.off + row, k));
    }
    s.valid = s.rows;

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_trues[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_trues[sg] = s.trues;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_trues[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows || s.trues != 0ul);
        out[0] = ok ? (uint)(s.trues != 0ul) : (uint)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// any of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_any_bool_nulls(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    constant Args& p [[buffer(6)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    if (group_index(tg) != 0ul) return;
    ulong n = p.n;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    for (ulong first = 0ul; first < n; first += 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) s.rows += end - first;
        // 32 rows a thread.
        ulong row = first + (ulong)(tid * 32u);
        if (row >= end) continue;
        uint k = end - row < 32ul ? (uint)(end - row) : 32u;
        uint live = bits_at(valid, p.valid + row, k);
        s.valid += (ulong)popcount(live);
        s.trues += (ulong)popcount(bits_at(in, p.off + row, k) & live);
    }

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_trues[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_trues[sg] = s.trues;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_trues[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows || s.trues != 0ul);
        out[0] = ok ? (uint)(s.trues != 0ul) : (uint)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// any of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_any_bool_nulls_pending(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uint* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    device const ulong* len [[buffer(5)]],
    constant Args& p [[buffer(6)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    if (group_index(tg) != 0ul) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    for (ulong first = 0ul; first < n; first += 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) s.rows += end - first;
        // 32 rows a thread.
        ulong row = first + (ulong)(tid * 32u);
        if (row >= end) continue;
        uint k = end - row < 32ul ? (uint)(end - row) : 32u;
        uint live = bits_at(valid, p.valid + row, k);
        s.valid += (ulong)popcount(live);
        s.trues += (ulong)popcount(bits_at(in, p.off + row, k) & live);
    }

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_trues[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_trues[sg] = s.trues;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_trues[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows || s.trues != 0ul);
        out[0] = ok ? (uint)(s.trues != 0ul) : (uint)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}
