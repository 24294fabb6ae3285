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
    uint states;
    uint min_count;
    uint skip_nulls;
    uint pad;
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

// min from the states of all threadgroups.
kernel void finish_min_bool(
    device const ulong* partials [[buffer(0)]],
    device uint* out [[buffer(1)]],
    device uint* out_valid [[buffer(2)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    if (group_index(tg) != 0ul) return;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    for (uint i = tid; i < p.states; i += 256u) {
        device const ulong* from = partials + (ulong)i * 3ul;
        s = merge(s, State{from[0], from[1], from[2]});
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
        bool ok = s.valid != 0ul && s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows);
        out[0] = ok ? (uint)(s.trues == s.valid) : (uint)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}
