#include <metal_stdlib>
using namespace metal;

#define ERR_OVERFLOW 1u

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

// The value of the lane whose number differs by the bits of d.
static inline ulong shuffle_xor(ulong v, ushort d) {
    return as_type<ulong>(simd_shuffle_xor(as_type<uint2>(v), d));
}

// The sum of the lanes up to this one.
static inline ulong prefix_sum(ulong v, uint lane) {
    for (ushort d = 1; d < 32; d <<= 1) {
        ulong below = as_type<ulong>(simd_shuffle_up(as_type<uint2>(v), d));
        if (lane >= (uint)d) v += below;
    }
    return v;
}

// Decoupled look-back: a scan in one pass over the data. Tile i tells the tiles after it the sum of its own rows as soon
// as it knows it (kind 1) and the sum of all rows up to its end as soon as it knows that (kind 2), in two words that each
// carry half of the sum, the kind, and a mark that is or-ed where sums are added. Both words say the same only when both
// are written, so that no fence is needed. The words are zeros before; threadgroups must make progress by themselves,
// and take the numbers of their tiles in the order in which they begin.
static inline void tell(device atomic_ulong* told, ulong tile, ulong sum, bool mark, uint kind) {
    ulong what = (ulong)(kind | (mark ? 4u : 0u)) << 32;
    atomic_store_explicit(told + 2ul * tile, what | (sum & 0xfffffffful), memory_order_relaxed);
    atomic_store_explicit(told + 2ul * tile + 1ul, what | (sum >> 32), memory_order_relaxed);
}

// The sum of all tiles before this one, and their mark, to every lane of the simdgroup that calls it. Tile 0 must tell
// kind 2.
static inline ulong look_back(device atomic_ulong* told, ulong tile, uint lane, thread bool& mark) {
    ulong sum = 0ul;
    mark = false;
    for (ulong end = tile;; end -= 32ul) {
        // One tile a lane, the nearest first.
        ulong low = 2ul << 32;
        ulong high = low;
        bool known = (ulong)lane >= end;
        while (!simd_all(known)) {
            if (!known) {
                ulong at = 2ul * (end - 1ul - (ulong)lane);
                low = atomic_load_explicit(told + at, memory_order_relaxed);
                high = atomic_load_explicit(told + at + 1ul, memory_order_relaxed);
                known = (low >> 32) != 0ul && (low >> 32) == (high >> 32);
            }
        }
        uint all = ballot(((low >> 32) & 2ul) != 0ul);
        bool counts = all == 0u || lane <= (uint)ctz(all);
        ulong v = counts ? (low & 0xfffffffful) | (high << 32) : 0ul;
        for (ushort d = 16; d > 0; d >>= 1) v += shuffle_xor(v, d);
        sum += v;
        mark = mark || ballot(counts && ((low >> 34) & 1ul) != 0ul) != 0u;
        if (all != 0u) return sum;
    }
}

static inline short add_wrap(short a, short b) {
    return (short)((uint)a + (uint)b);
}

static inline short add_checked(short a, short b, thread uint& bad) {
    short r = add_wrap(a, b);
    if (((a ^ r) & (b ^ r)) < 0) bad |= ERR_OVERFLOW;
    return r;
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

// out = start + the sum of the rows up to each, in one pass
kernel void cumulative_sum_checked_i16_lookback(
    device const short* in [[buffer(0)]],
    device short* out [[buffer(2)]],
    device atomic_uint* error [[buffer(4)]],
    device atomic_ulong* states [[buffer(6)]],
    device const ulong* carry [[buffer(7)]],
    device ulong* next [[buffer(8)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup short moved[256 * (16 + 1)];
    threadgroup ulong sums[8];
    threadgroup ulong before[2];
    if (sg == 0u && lane == 0u) before[0] = atomic_fetch_add_explicit(states + 2ul * (ulong)p.tiles, 1ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong tile = before[0];
    (void)tg; // tiles are numbered by who comes first
    if (tile >= (ulong)p.tiles) return;
    ulong n = p.n;

    // A simdgroup reads its rows in order and deals them out by way of threadgroup memory: 16 to a lane, one after the
    // other, with a gap between lanes so that they use different banks.
    ulong base = tile * 4096ul + (ulong)(sg * 512u);
    threadgroup short* mine = moved + sg * (32u * (16u + 1u));
    {
        short v[16];
        for (uint j = 0u; j < 16u; j++) {
            ulong row = base + (ulong)(j * 32u + lane);
            v[j] = row < n ? in[p.off + row] : (short)0;
        }
        for (uint j = 0u; j < 16u; j++) {
            uint e = j * 32u + lane;
            mine[e + e / 16u] = v[j];
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    ulong sum = 0ul;
    for (uint j = 0u; j < 16u; j++) {
        ulong x = (ulong)mine[lane * (16u + 1u) + j];
        sum += x;
    }

    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u) {
        ulong all = 0ul;
        bool mark = false;
        for (uint i = 0u; i < 8u; i++) {
            all += sums[i];
        }
        ulong from = p.start;
        bool marked = false;
        if (tile != 0ul) {
            if (lane == 0u) tell(states, tile, all, mark, 1u);
            from = look_back(states, tile, lane, marked);
        } else if (p.goes_on != 0u) {
            from = carry[0];
            marked = carry[1] != 0ul;
        }
        if (lane == 0u) {
            tell(states, tile, from + all, marked || mark, 2u);
            before[0] = from;
            before[1] = (ulong)marked;
            if (tile + 1ul == (ulong)p.tiles) {
                next[0] = from + all;
                next[1] = (ulong)(marked || mark);
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to += before[0];
    for (uint i = 0u; i < sg; i++) {
        to += sums[i];
    }
    uint err = 0u;
    // Rows are read again from threadgroup memory: registers that held them would keep other threadgroups off.
    for (uint j = 0u; j < 16u; j++) {
        short x = mine[lane * (16u + 1u) + j];
        uint bad = 0u;
        short r = add_checked((short)to, x, bad);
        err |= bad;
        to += (ulong)x;
        mine[lane * (16u + 1u) + j] = r;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0u; j < 16u; j++) {
        uint e = j * 32u + lane;
        ulong row = base + (ulong)e;
        if (row < p.n) out[row] = row < n ? mine[e + e / 16u] : (short)0;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out = start + the sum of the rows up to each, in one pass
kernel void cumulative_sum_checked_i16_pending_lookback(
    device const short* in [[buffer(0)]],
    device short* out [[buffer(2)]],
    device atomic_uint* error [[buffer(4)]],
    device const ulong* len [[buffer(5)]],
    device atomic_ulong* states [[buffer(6)]],
    device const ulong* carry [[buffer(7)]],
    device ulong* next [[buffer(8)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup short moved[256 * (16 + 1)];
    threadgroup ulong sums[8];
    threadgroup ulong before[2];
    if (sg == 0u && lane == 0u) before[0] = atomic_fetch_add_explicit(states + 2ul * (ulong)p.tiles, 1ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong tile = before[0];
    (void)tg; // tiles are numbered by who comes first
    if (tile >= (ulong)p.tiles) return;
    ulong n = len[0] < p.n ? len[0] : p.n;

    // A simdgroup reads its rows in order and deals them out by way of threadgroup memory: 16 to a lane, one after the
    // other, with a gap between lanes so that they use different banks.
    ulong base = tile * 4096ul + (ulong)(sg * 512u);
    threadgroup short* mine = moved + sg * (32u * (16u + 1u));
    {
        short v[16];
        for (uint j = 0u; j < 16u; j++) {
            ulong row = base + (ulong)(j * 32u + lane);
            v[j] = row < n ? in[p.off + row] : (short)0;
        }
        for (uint j = 0u; j < 16u; j++) {
            uint e = j * 32u + lane;
            mine[e + e / 16u] = v[j];
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    ulong sum = 0ul;
    for (uint j = 0u; j < 16u; j++) {
        ulong x = (ulong)mine[lane * (16u + 1u) + j];
        sum += x;
    }

    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u) {
        ulong all = 0ul;
        bool mark = false;
        for (uint i = 0u; i < 8u; i++) {
            all += sums[i];
        }
        ulong from = p.start;
        bool marked = false;
        if (tile != 0ul) {
            if (lane == 0u) tell(states, tile, all, mark, 1u);
            from = look_back(states, tile, lane, marked);
        } else if (p.goes_on != 0u) {
            from = carry[0];
            marked = carry[1] != 0ul;
        }
        if (lane == 0u) {
            tell(states, tile, from + all, marked || mark, 2u);
            before[0] = from;
            before[1] = (ulong)marked;
            if (tile + 1ul == (ulong)p.tiles) {
                next[0] = from + all;
                next[1] = (ulong)(marked || mark);
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to += before[0];
    for (uint i = 0u; i < sg; i++) {
        to += sums[i];
    }
    uint err = 0u;
    // Rows are read again from threadgroup memory: registers that held them would keep other threadgroups off.
    for (uint j = 0u; j < 16u; j++) {
        short x = mine[lane * (16u + 1u) + j];
        uint bad = 0u;
        short r = add_checked((short)to, x, bad);
        err |= bad;
        to += (ulong)x;
        mine[lane * (16u + 1u) + j] = r;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0u; j < 16u; j++) {
        uint e = j * 32u + lane;
        ulong row = base + (ulong)e;
        if (row < p.n) out[row] = row < n ? mine[e + e / 16u] : (short)0;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out = start + the sum of the rows up to each, in one pass
kernel void cumulative_sum_checked_i16_nulls_lookback(
    device const short* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device short* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    device atomic_uint* error [[buffer(4)]],
    device atomic_ulong* states [[buffer(6)]],
    device const ulong* carry [[buffer(7)]],
    device ulong* next [[buffer(8)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup short moved[256 * (16 + 1)];
    threadgroup ulong sums[8];
    threadgroup uint ends[8];
    threadgroup ulong before[2];
    if (sg == 0u && lane == 0u) before[0] = atomic_fetch_add_explicit(states + 2ul * (ulong)p.tiles, 1ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong tile = before[0];
    (void)tg; // tiles are numbered by who comes first
    if (tile >= (ulong)p.tiles) return;
    ulong n = p.n;

    // A simdgroup reads its rows in order and deals them out by way of threadgroup memory: 16 to a lane, one after the
    // other, with a gap between lanes so that they use different banks.
    ulong base = tile * 4096ul + (ulong)(sg * 512u);
    threadgroup short* mine = moved + sg * (32u * (16u + 1u));
    {
        short v[16];
        for (uint j = 0u; j < 16u; j++) {
            ulong row = base + (ulong)(j * 32u + lane);
            v[j] = row < n ? in[p.off + row] : (short)0;
        }
        for (uint j = 0u; j < 16u; j++) {
            uint e = j * 32u + lane;
            mine[e + e / 16u] = v[j];
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    ulong first = base + (ulong)(lane * 16u);
    uint k = first >= n ? 0u : n - first < 16ul ? (uint)(n - first) : 16u;
    uint live = k != 0u ? bits_at(valid, p.valid + first, k) : 0u;
    bool ended = k != 0u && live != low_bits(k);
    ulong sum = 0ul;
    for (uint j = 0u; j < 16u; j++) {
        ulong x = (ulong)mine[lane * (16u + 1u) + j];
        sum += ((live >> j) & 1u) != 0u ? x : 0ul;
    }

    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    uint ending = ballot(ended);
    if (lane == 0u) ends[sg] = ending;
    ended = (ending & ((1u << lane) - 1u)) != 0u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u) {
        ulong all = 0ul;
        bool mark = false;
        for (uint i = 0u; i < 8u; i++) {
            all += sums[i];
            mark = mark || ends[i] != 0u;
        }
        ulong from = p.start;
        bool marked = false;
        if (tile != 0ul) {
            if (lane == 0u) tell(states, tile, all, mark, 1u);
            from = look_back(states, tile, lane, marked);
        } else if (p.goes_on != 0u) {
            from = carry[0];
            marked = carry[1] != 0ul;
        }
        if (lane == 0u) {
            tell(states, tile, from + all, marked || mark, 2u);
            before[0] = from;
            before[1] = (ulong)marked;
            if (tile + 1ul == (ulong)p.tiles) {
                next[0] = from + all;
                next[1] = (ulong)(marked || mark);
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to += before[0];
    ended = ended || before[1] != 0ul;
    for (uint i = 0u; i < sg; i++) {
        to += sums[i];
        ended = ended || ends[i] != 0u;
    }
    ended = ended && p.stops != 0u;
    uint bits = 0u;
    uint err = 0u;
    // Rows are read again from threadgroup memory: registers that held them would keep other threadgroups off.
    for (uint j = 0u; j < 16u; j++) {
        short x = mine[lane * (16u + 1u) + j];
        bool valid_row = ((live >> j) & 1u) != 0u;
        ended = ended || (p.stops != 0u && !valid_row);
        valid_row = valid_row && !ended;
        bits |= valid_row ? 1u << j : 0u;
        if (((live >> j) & 1u) == 0u) x = (short)0;
        uint bad = 0u;
        short r = add_checked((short)to, x, bad);
        if (valid_row) err |= bad;
        to += (ulong)x;
        mine[lane * (16u + 1u) + j] = r;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0u; j < 16u; j++) {
        uint e = j * 32u + lane;
        ulong row = base + (ulong)e;
        if (row < p.n) out[row] = row < n ? mine[e + e / 16u] : (short)0;
    }
    // The bits of 2 lanes are a word.
    bits <<= 16u * (lane & 1u);
    for (ushort d = 1; d <= 1; d <<= 1) bits |= simd_shuffle_xor(bits, d);
    if ((lane & 1u) == 0u && first < p.n) out_valid[first >> 5] = bits;
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out = start + the sum of the rows up to each, in one pass
kernel void cumulative_sum_checked_i16_nulls_pending_lookback(
    device const short* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device short* out [[buffer(2)]],
    device uint* out_valid [[buffer(3)]],
    device atomic_uint* error [[buffer(4)]],
    device const ulong* len [[buffer(5)]],
    device atomic_ulong* states [[buffer(6)]],
    device const ulong* carry [[buffer(7)]],
    device ulong* next [[buffer(8)]],
    constant Args& p [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup short moved[256 * (16 + 1)];
    threadgroup ulong sums[8];
    threadgroup uint ends[8];
    threadgroup ulong before[2];
    if (sg == 0u && lane == 0u) before[0] = atomic_fetch_add_explicit(states + 2ul * (ulong)p.tiles, 1ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong tile = before[0];
    (void)tg; // tiles are numbered by who comes first
    if (tile >= (ulong)p.tiles) return;
    ulong n = len[0] < p.n ? len[0] : p.n;

    // A simdgroup reads its rows in order and deals them out by way of threadgroup memory: 16 to a lane, one after the
    // other, with a gap between lanes so that they use different banks.
    ulong base = tile * 4096ul + (ulong)(sg * 512u);
    threadgroup short* mine = moved + sg * (32u * (16u + 1u));
    {
        short v[16];
        for (uint j = 0u; j < 16u; j++) {
            ulong row = base + (ulong)(j * 32u + lane);
            v[j] = row < n ? in[p.off + row] : (short)0;
        }
        for (uint j = 0u; j < 16u; j++) {
            uint e = j * 32u + lane;
            mine[e + e / 16u] = v[j];
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    ulong first = base + (ulong)(lane * 16u);
    uint k = first >= n ? 0u : n - first < 16ul ? (uint)(n - first) : 16u;
    uint live = k != 0u ? bits_at(valid, p.valid + first, k) : 0u;
    bool ended = k != 0u && live != low_bits(k);
    ulong sum = 0ul;
    for (uint j = 0u; j < 16u; j++) {
        ulong x = (ulong)mine[lane * (16u + 1u) + j];
        sum += ((live >> j) & 1u) != 0u ? x : 0ul;
    }

    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    uint ending = ballot(ended);
    if (lane == 0u) ends[sg] = ending;
    ended = (ending & ((1u << lane) - 1u)) != 0u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u) {
        ulong all = 0ul;
        bool mark = false;
        for (uint i = 0u; i < 8u; i++) {
            all += sums[i];
            mark = mark || ends[i] != 0u;
        }
        ulong from = p.start;
        bool marked = false;
        if (tile != 0ul) {
            if (lane == 0u) tell(states, tile, all, mark, 1u);
            from = look_back(states, tile, lane, marked);
        } else if (p.goes_on != 0u) {
            from = carry[0];
            marked = carry[1] != 0ul;
        }
        if (lane == 0u) {
            tell(states, tile, from + all, marked || mark, 2u);
            before[0] = from;
            before[1] = (ulong)marked;
            if (tile + 1ul == (ulong)p.tiles) {
                next[0] = from + all;
                next[1] = (ulong)(marked || mark);
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to += before[0];
    ended = ended || before[1] != 0ul;
    for (uint i = 0u; i < sg; i++) {
        to += sums[i];
        ended = ended || ends[i] != 0u;
    }
    ended = ended && p.stops != 0u;
    uint bits = 0u;
    uint err = 0u;
    // Rows are read again from threadgroup memory: registers that held them would keep other threadgroups off.
    for (uint j = 0u; j < 16u; j++) {
        short x = mine[lane * (16u + 1u) + j];
        bool valid_row = ((live >> j) & 1u) != 0u;
        ended = ended || (p.stops != 0u && !valid_row);
        valid_row = valid_row && !ended;
        bits |= valid_row ? 1u << j : 0u;
        if (((live >> j) & 1u) == 0u) x = (short)0;
        uint bad = 0u;
        short r = add_checked((short)to, x, bad);
        if (valid_row) err |= bad;
        to += (ulong)x;
        mine[lane * (16u + 1u) + j] = r;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0u; j < 16u; j++) {
        uint e = j * 32u + lane;
        ulong row = base + (ulong)e;
        if (row < p.n) out[row] = row < n ? mine[e + e / 16u] : (short)0;
    }
    // The bits of 2 lanes are a word.
    bits <<= 16u * (lane & 1u);
    for (ushort d = 1; d <= 1; d <<= 1) bits |= simd_shuffle_xor(bits, d);
    if ((lane & 1u) == 0u && first < p.n) out_valid[first >> 5] = bits;
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}
