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

struct Args {
    ulong n;
    ulong off;
    ulong valid;
    uint groups;
    uint first;
};

// What the superaccumulator does not hold.
struct State {
    ulong rows;
    ulong valid;
    ulong nan;
    ulong pos_inf;
    ulong neg_inf;
};

static inline State no_rows() {
    return State{0ul, 0ul, 0ul, 0ul, 0ul};
}

static inline State merge(State a, State b) {
    a.rows += b.rows;
    a.valid += b.valid;
    a.nan += b.nan;
    a.pos_inf += b.pos_inf;
    a.neg_inf += b.neg_inf;
    return a;
}

static inline State shuffle_state(State s, ushort d) {
    return State{shuffle_xor(s.rows, d), shuffle_xor(s.valid, d), shuffle_xor(s.nan, d), shuffle_xor(s.pos_inf, d), shuffle_xor(s.neg_inf, d)};
}

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// Sum of the rows without rounding, one superaccumulator a threadgroup: digit i has the weight 2^(16 i - 1074).
kernel void exact_sum_f64(
    device const ulong* in [[buffer(0)]],
    device ulong* partials [[buffer(2)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup atomic_int digits[132];
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = p.n;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    long digit = 0; // of this thread's number
    if (tid < 132u) atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ulong first = group * 8192ul; first < n; first += (ulong)p.groups * 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) s.rows += end - first;
        for (ulong row = first + tid; row < end; row += 256ul) {
            ulong x = in[p.off + row];
            bool negative = (x >> 63) != 0ul;
            uint e = (uint)(x >> 52) & 0x7ffu;
            ulong m = x & 0x000ffffffffffffful;
            if (e == 0x7ffu) {
                s.nan += (ulong)(m != 0ul);
                s.pos_inf += (ulong)(m == 0ul && !negative);
                s.neg_inf += (ulong)(m == 0ul && negative);
                continue;
            }
            if (e != 0u) {
                m |= 0x0010000000000000ul;
                e--;
            }
            // m * 2^(e - 1074), by digits
            uint k = e >> 4;
            ulong low = m << (e & 15u);
            for (uint i = k; low != 0ul; i++) {
                int d = (int)(low & 0xfffful);
                if (d != 0) atomic_fetch_add_explicit(&digits[i], negative ? -d : d, memory_order_relaxed);
                low >>= 16;
            }
            int top = (int)((m >> 1) >> (63u - (e & 15u)));
            if (top != 0) atomic_fetch_add_explicit(&digits[k + 4u], negative ? -top : top, memory_order_relaxed);
        }
        // An int holds the sum of 8192 digits of 16 bits, not of many more.
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tid < 132u) {
            digit += (long)atomic_load_explicit(&digits[tid], memory_order_relaxed);
            atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    s.valid = s.rows;

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_nan[8];
    threadgroup ulong part_pos_inf[8];
    threadgroup ulong part_neg_inf[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_nan[sg] = s.nan;
        part_pos_inf[sg] = s.pos_inf;
        part_neg_inf[sg] = s.neg_inf;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_nan[i], part_pos_inf[i], part_neg_inf[i]});
        }
    }
    device ulong* to = partials + ((ulong)p.first + group) * 137ul;
    if (tid == 0u) {
        to[0] = s.rows;
        to[1] = s.valid;
        to[2] = s.nan;
        to[3] = s.pos_inf;
        to[4] = s.neg_inf;
    }
    if (tid < 132u) to[5u + tid] = (ulong)digit;
}

// Sum of the rows without rounding, one superaccumulator a threadgroup: digit i has the weight 2^(16 i - 1074).
kernel void exact_sum_f64_pending(
    device const ulong* in [[buffer(0)]],
    device ulong* partials [[buffer(2)]],
    device const ulong* len [[buffer(3)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup atomic_int digits[132];
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    long digit = 0; // of this thread's number
    if (tid < 132u) atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ulong first = group * 8192ul; first < n; first += (ulong)p.groups * 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) s.rows += end - first;
        for (ulong row = first + tid; row < end; row += 256ul) {
            ulong x = in[p.off + row];
            bool negative = (x >> 63) != 0ul;
            uint e = (uint)(x >> 52) & 0x7ffu;
            ulong m = x & 0x000ffffffffffffful;
            if (e == 0x7ffu) {
                s.nan += (ulong)(m != 0ul);
                s.pos_inf += (ulong)(m == 0ul && !negative);
                s.neg_inf += (ulong)(m == 0ul && negative);
                continue;
            }
            if (e != 0u) {
                m |= 0x0010000000000000ul;
                e--;
            }
            // m * 2^(e - 1074), by digits
            uint k = e >> 4;
            ulong low = m << (e & 15u);
            for (uint i = k; low != 0ul; i++) {
                int d = (int)(low & 0xfffful);
                if (d != 0) atomic_fetch_add_explicit(&digits[i], negative ? -d : d, memory_order_relaxed);
                low >>= 16;
            }
            int top = (int)((m >> 1) >> (63u - (e & 15u)));
            if (top != 0) atomic_fetch_add_explicit(&digits[k + 4u], negative ? -top : top, memory_order_relaxed);
        }
        // An int holds the sum of 8192 digits of 16 bits, not of many more.
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tid < 132u) {
            digit += (long)atomic_load_explicit(&digits[tid], memory_order_relaxed);
            atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    s.valid = s.rows;

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_nan[8];
    threadgroup ulong part_pos_inf[8];
    threadgroup ulong part_neg_inf[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_nan[sg] = s.nan;
        part_pos_inf[sg] = s.pos_inf;
        part_neg_inf[sg] = s.neg_inf;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_nan[i], part_pos_inf[i], part_neg_inf[i]});
        }
    }
    device ulong* to = partials + ((ulong)p.first + group) * 137ul;
    if (tid == 0u) {
        to[0] = s.rows;
        to[1] = s.valid;
        to[2] = s.nan;
        to[3] = s.pos_inf;
        to[4] = s.neg_inf;
    }
    if (tid < 132u) to[5u + tid] = (ulong)digit;
}

// Sum of the rows without rounding, one superaccumulator a threadgroup: digit i has the weight 2^(16 i - 1074).
kernel void exact_sum_f64_nulls(
    device const ulong* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device ulong* partials [[buffer(2)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup atomic_int digits[132];
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = p.n;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    long digit = 0; // of this thread's number
    if (tid < 132u) atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ulong first = group * 8192ul; first < n; first += (ulong)p.groups * 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) s.rows += end - first;
        for (ulong row = first + tid; row < end; row += 256ul) {
            if (!bit_at(valid, p.valid + row)) continue;
            s.valid++;
            ulong x = in[p.off + row];
            bool negative = (x >> 63) != 0ul;
            uint e = (uint)(x >> 52) & 0x7ffu;
            ulong m = x & 0x000ffffffffffffful;
            if (e == 0x7ffu) {
                s.nan += (ulong)(m != 0ul);
                s.pos_inf += (ulong)(m == 0ul && !negative);
                s.neg_inf += (ulong)(m == 0ul && negative);
                continue;
            }
            if (e != 0u) {
                m |= 0x0010000000000000ul;
                e--;
            }
            // m * 2^(e - 1074), by digits
            uint k = e >> 4;
            ulong low = m << (e & 15u);
            for (uint i = k; low != 0ul; i++) {
                int d = (int)(low & 0xfffful);
                if (d != 0) atomic_fetch_add_explicit(&digits[i], negative ? -d : d, memory_order_relaxed);
                low >>= 16;
            }
            int top = (int)((m >> 1) >> (63u - (e & 15u)));
            if (top != 0) atomic_fetch_add_explicit(&digits[k + 4u], negative ? -top : top, memory_order_relaxed);
        }
        // An int holds the sum of 8192 digits of 16 bits, not of many more.
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tid < 132u) {
            digit += (long)atomic_load_explicit(&digits[tid], memory_order_relaxed);
            atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_nan[8];
    threadgroup ulong part_pos_inf[8];
    threadgroup ulong part_neg_inf[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_nan[sg] = s.nan;
        part_pos_inf[sg] = s.pos_inf;
        part_neg_inf[sg] = s.neg_inf;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_nan[i], part_pos_inf[i], part_neg_inf[i]});
        }
    }
    device ulong* to = partials + ((ulong)p.first + group) * 137ul;
    if (tid == 0u) {
        to[0] = s.rows;
        to[1] = s.valid;
        to[2] = s.nan;
        to[3] = s.pos_inf;
        to[4] = s.neg_inf;
    }
    if (tid < 132u) to[5u + tid] = (ulong)digit;
}

// Sum of the rows without rounding, one superaccumulator a threadgroup: digit i has the weight 2^(16 i - 1074).
kernel void exact_sum_f64_nulls_pending(
    device const ulong* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device ulong* partials [[buffer(2)]],
    device const ulong* len [[buffer(3)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup atomic_int digits[132];
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    long digit = 0; // of this thread's number
    if (tid < 132u) atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ulong first = group * 8192ul; first < n; first += (ulong)p.groups * 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) s.rows += end - first;
        for (ulong row = first + tid; row < end; row += 256ul) {
            if (!bit_at(valid, p.valid + row)) continue;
            s.valid++;
            ulong x = in[p.off + row];
            bool negative = (x >> 63) != 0ul;
            uint e = (uint)(x >> 52) & 0x7ffu;
            ulong m = x & 0x000ffffffffffffful;
            if (e == 0x7ffu) {
                s.nan += (ulong)(m != 0ul);
                s.pos_inf += (ulong)(m == 0ul && !negative);
                s.neg_inf += (ulong)(m == 0ul && negative);
                continue;
            }
            if (e != 0u) {
                m |= 0x0010000000000000ul;
                e--;
            }
            // m * 2^(e - 1074), by digits
            uint k = e >> 4;
            ulong low = m << (e & 15u);
            for (uint i = k; low != 0ul; i++) {
                int d = (int)(low & 0xfffful);
                if (d != 0) atomic_fetch_add_explicit(&digits[i], negative ? -d : d, memory_order_relaxed);
                low >>= 16;
            }
            int top = (int)((m >> 1) >> (63u - (e & 15u)));
            if (top != 0) atomic_fetch_add_explicit(&digits[k + 4u], negative ? -top : top, memory_order_relaxed);
        }
        // An int holds the sum of 8192 digits of 16 bits, not of many more.
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tid < 132u) {
            digit += (long)atomic_load_explicit(&digits[tid], memory_order_relaxed);
            atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
    threadgroup ulong part_rows[8];
    threadgroup ulong part_valid[8];
    threadgroup ulong part_nan[8];
    threadgroup ulong part_pos_inf[8];
    threadgroup ulong part_neg_inf[8];
    if (lane == 0u) {
        part_rows[sg] = s.rows;
        part_valid[sg] = s.valid;
        part_nan[sg] = s.nan;
        part_pos_inf[sg] = s.pos_inf;
        part_neg_inf[sg] = s.neg_inf;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < 8u; i++) {
            s = merge(s, State{part_rows[i], part_valid[i], part_nan[i], part_pos_inf[i], part_neg_inf[i]});
        }
    }
    device ulong* to = partials + ((ulong)p.first + group) * 137ul;
    if (tid == 0u) {
        to[0] = s.rows;
        to[1] = s.valid;
        to[2] = s.nan;
        to[3] = s.pos_inf;
        to[4] = s.neg_inf;
    }
    if (tid < 132u) to[5u + tid] = (ulong)digit;
}
