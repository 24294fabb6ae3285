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

static inline uint sf64_clz(ulong x) {
    uint hi = (uint)(x >> 32);
    return hi != 0u ? (uint)clz(hi) : 32u + (uint)clz((uint)x);
}

static inline ulong sf64_div(ulong a, ulong b) {
    return as_type<ulong>(as_type<double>(a) / as_type<double>(b));
}

static inline ulong sf64_from_ulong(ulong x) {
    return as_type<ulong>((double)x);
}

static inline ulong sf64_from_u128(ulong hi, ulong lo) {
    if (hi == 0ul) return sf64_from_ulong(lo);
    uint n = sf64_clz(hi);
    ulong top = (hi << n) | ((lo >> 1) >> (63u - n)) | (ulong)((lo << n) != 0ul);
    return sf64_from_ulong(top) + ((ulong)(64u - n) << 52);
}

struct Args {
    ulong n;
    ulong off;
    ulong valid;
    uint min_count;
    uint skip_nulls;
};

// The sum as a 128-bit integer.
struct State {
    ulong rows;
    ulong valid;
    ulong high;
    ulong low;
};

static inline State no_rows() {
    return State{0ul, 0ul, 0ul, 0ul};
}

static inline State merge(State a, State b) {
    a.rows += b.rows;
    a.valid += b.valid;
    a.high += b.high + (a.low + b.low < a.low ? 1ul : 0ul);
    a.low += b.low;
    return a;
}

static inline State shuffle_state(State s, ushort d) {
    return State{shuffle_xor(s.rows, d), shuffle_xor(s.valid, d), shuffle_xor(s.high, d), shuffle_xor(s.low, d)};
}

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// mean of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_mean_u64_native(
    device const ulong* in [[buffer(0)]],
    device ulong* out [[buffer(2)]],
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
        for (ulong row = first + tid; row < end; row += 256ul) {
            ulong x = in[p.off + row];
            s.low += (ulong)x;
            s.high += (s.low < (ulong)x ? 1ul : 0ul);
        }
    }
    s.valid = s.rows;

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_high[8];
    threadgroup ulong part_low[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_high[sg] = s.high;
        part_low[sg] = s.low;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_high[i], part_low[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows);
        out[0] = ok ? (ulong)(sf64_div(sf64_from_u128(s.high, s.low), sf64_from_ulong(s.valid))) : (ulong)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// mean of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_mean_u64_pending_native(
    device const ulong* in [[buffer(0)]],
    device ulong* out [[buffer(2)]],
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
        for (ulong row = first + tid; row < end; row += 256ul) {
            ulong x = in[p.off + row];
            s.low += (ulong)x;
            s.high += (s.low < (ulong)x ? 1ul : 0ul);
        }
    }
    s.valid = s.rows;

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_high[8];
    threadgroup ulong part_low[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_high[sg] = s.high;
        part_low[sg] = s.low;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_high[i], part_low[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows);
        out[0] = ok ? (ulong)(sf64_div(sf64_from_u128(s.high, s.low), sf64_from_ulong(s.valid))) : (ulong)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// mean of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_mean_u64_nulls_native(
    device const ulong* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device ulong* out [[buffer(2)]],
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
        for (ulong row = first + tid; row < end; row += 256ul) {
            if (!bit_at(valid, p.valid + row)) continue;
            s.valid++;
            ulong x = in[p.off + row];
            s.low += (ulong)x;
            s.high += (s.low < (ulong)x ? 1ul : 0ul);
        }
    }

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_high[8];
    threadgroup ulong part_low[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_high[sg] = s.high;
        part_low[sg] = s.low;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_high[i], part_low[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows);
        out[0] = ok ? (ulong)(sf64_div(sf64_from_u128(s.high, s.low), sf64_from_ulong(s.valid))) : (ulong)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// mean of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_mean_u64_nulls_pending_native(
    device const ulong* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device ulong* out [[buffer(2)]],
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
        for (ulong row = first + tid; row < end; row += 256ul) {
            if (!bit_at(valid, p.valid + row)) continue;
            s.valid++;
            ulong x = in[p.off + row];
            s.low += (ulong)x;
            s.high += (s.low < (ulong)x ? 1ul : 0ul);
        }
    }

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_high[8];
    threadgroup ulong part_low[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_high[sg] = s.high;
        part_low[sg] = s.low;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_high[i], part_low[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows);
        out[0] = ok ? (ulong)(sf64_div(sf64_from_u128(s.high, s.low), sf64_from_ulong(s.valid))) : (ulong)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}
