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

// An unsigned integer that orders like a.
static inline ulong order_key(uchar a) {
    return (ulong)a;
}

static inline uchar from_order_key(ulong k) {
    return (uchar)k;
}

struct Args {
    ulong n;
    ulong off;
    ulong valid;
    uint min_count;
    uint skip_nulls;
};

// Extremes as order-preserving keys, of the rows that are not NaN.
struct State {
    ulong rows;
    ulong valid;
    ulong smallest;
    ulong largest;
    ulong seen;
};

static inline State no_rows() {
    return State{0ul, 0ul, ~0ul, 0ul, 0ul};
}

static inline State merge(State a, State b) {
    a.rows += b.rows;
    a.valid += b.valid;
    a.smallest = b.smallest < a.smallest ? b.smallest : a.smallest;
    a.largest = b.largest > a.largest ? b.largest : a.largest;
    a.seen += b.seen;
    return a;
}

static inline State shuffle_state(State s, ushort d) {
    return State{shuffle_xor(s.rows, d), shuffle_xor(s.valid, d), shuffle_xor(s.smallest, d), shuffle_xor(s.largest, d), shuffle_xor(s.seen, d)};
}

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// max of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_max_u8(
    device const uchar* in [[buffer(0)]],
    device uchar* out [[buffer(2)]],
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
            uchar x = in[p.off + row];
            ulong k = order_key(x);
            s.seen++;
            s.smallest = k < s.smallest ? k : s.smallest;
            s.largest = k > s.largest ? k : s.largest;
        }
    }
    s.valid = s.rows;

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_smallest[8];
    threadgroup ulong part_largest[8];
    threadgroup ulong part_seen[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_smallest[sg] = s.smallest;
        part_largest[sg] = s.largest;
        part_seen[sg] = s.seen;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_smallest[i], part_largest[i], part_seen[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid != 0ul && s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows);
        out[0] = ok ? (uchar)(from_order_key(s.largest)) : (uchar)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// max of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_max_u8_pending(
    device const uchar* in [[buffer(0)]],
    device uchar* out [[buffer(2)]],
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
            uchar x = in[p.off + row];
            ulong k = order_key(x);
            s.seen++;
            s.smallest = k < s.smallest ? k : s.smallest;
            s.largest = k > s.largest ? k : s.largest;
        }
    }
    s.valid = s.rows;

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_smallest[8];
    threadgroup ulong part_largest[8];
    threadgroup ulong part_seen[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_smallest[sg] = s.smallest;
        part_largest[sg] = s.largest;
        part_seen[sg] = s.seen;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_smallest[i], part_largest[i], part_seen[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid != 0ul && s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows);
        out[0] = ok ? (uchar)(from_order_key(s.largest)) : (uchar)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// max of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_max_u8_nulls(
    device const uchar* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uchar* out [[buffer(2)]],
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
            uchar x = in[p.off + row];
            ulong k = order_key(x);
            s.seen++;
            s.smallest = k < s.smallest ? k : s.smallest;
            s.largest = k > s.largest ? k : s.largest;
        }
    }

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_smallest[8];
    threadgroup ulong part_largest[8];
    threadgroup ulong part_seen[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_smallest[sg] = s.smallest;
        part_largest[sg] = s.largest;
        part_seen[sg] = s.seen;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_smallest[i], part_largest[i], part_seen[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid != 0ul && s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows);
        out[0] = ok ? (uchar)(from_order_key(s.largest)) : (uchar)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// max of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_max_u8_nulls_pending(
    device const uchar* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device uchar* out [[buffer(2)]],
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
            uchar x = in[p.off + row];
            ulong k = order_key(x);
            s.seen++;
            s.smallest = k < s.smallest ? k : s.smallest;
            s.largest = k > s.largest ? k : s.largest;
        }
    }

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_smallest[8];
    threadgroup ulong part_largest[8];
    threadgroup ulong part_seen[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_smallest[sg] = s.smallest;
        part_largest[sg] = s.largest;
        part_seen[sg] = s.seen;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_smallest[i], part_largest[i], part_seen[i]});
        }
    }
    if (tid == 0u) {
        bool ok = s.valid != 0ul && s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows);
        out[0] = ok ? (uchar)(from_order_key(s.largest)) : (uchar)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}
