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

#define SF64_SIGN   0x8000000000000000ul

#define SF64_INF    0x7ff0000000000000ul

#define SF64_NAN    0x7ff8000000000000ul

#define SF64_FRAC   0x000ffffffffffffful

#define SF64_HIDDEN 0x0010000000000000ul

static inline uint sf64_clz(ulong x) {
    uint hi = (uint)(x >> 32);
    return hi != 0u ? (uint)clz(hi) : 32u + (uint)clz((uint)x);
}

static inline bool sf64_isnan(ulong a) {
    return (a & ~SF64_SIGN) > SF64_INF;
}

static inline ulong sf64_shift_jam(ulong x, uint n) {
    n = n < 63u ? n : 63u;
    ulong s = x >> n;
    return s | (ulong)((s << n) != x);
}

// e >= 1; a significand without bit 63 is subnormal and has e == 1.
static inline ulong sf64_round(int e, ulong sig) {
    uint up = (((uint)sig & 0x7ffu) + 0x3ffu + ((uint)(sig >> 11) & 1u)) >> 11;
    ulong mag = ((ulong)(e - 1) << 52) + (sig >> 11) + (ulong)up;
    return mag < SF64_INF ? mag : SF64_INF;
}

static inline ulong sf64_round_tiny(int e, ulong sig) {
    if (e < 1) {
        sig = sf64_shift_jam(sig, (uint)(1 - e));
        e = 1;
    }
    return sf64_round(e, sig);
}

// The high half of the product; jam makes its bit 0 sticky for the low half.
static inline ulong sf64_mul_high(ulong a, ulong b, bool jam) {
    ulong al = a & 0xfffffffful, ah = a >> 32;
    ulong bl = b & 0xfffffffful, bh = b >> 32;
    ulong p = al * bl;
    ulong q = ah * bl + (p >> 32);
    ulong r = al * bh + (q & 0xfffffffful);
    ulong hi = ah * bh + (q >> 32) + (r >> 32);
    return hi | (ulong)(jam && ((uint)p | (uint)r) != 0u);
}

static inline uint sf64_recip_step(uint d, uint r) {
    uint t = (uint)(((ulong)d * r) >> 32);
    return (uint)(((ulong)r * (~t - 1u)) >> 31);
}

// floor-like 2^127 / d for d >= 2^63, from below, relative error under 2^-57.
static inline ulong sf64_recip(ulong d) {
    uint dh = (uint)(d >> 32);
    uint r = 0x69696969u - (uint)(((ulong)dh * 0xf0f0f0f1u) >> 32);
    r = sf64_recip_step(dh, r);
    r = sf64_recip_step(dh, r);
    r = sf64_recip_step(dh, r);
    ulong dr = (ulong)dh * r + (((d & 0xfffffffful) * r) >> 32);
    ulong err = (SF64_SIGN - 1ul - dr) >> 2;
    return ((ulong)r << 32) + (((ulong)r * err) >> 29);
}

static inline ulong sf64_div(ulong a, ulong b) {
    ulong sign = (a ^ b) & SF64_SIGN;
    uint ea = (uint)(a >> 52) & 0x7ffu;
    uint eb = (uint)(b >> 52) & 0x7ffu;
    ulong sa = a & SF64_FRAC;
    ulong sb = b & SF64_FRAC;
    int e = (int)ea - (int)eb + 1023;
    if (ea - 1u >= 0x7feu || eb - 1u >= 0x7feu) {
        bool za = (a & ~SF64_SIGN) == 0ul;
        bool zb = (b & ~SF64_SIGN) == 0ul;
        bool ia = ea == 0x7ffu;
        bool ib = eb == 0x7ffu;
        bool bad = sf64_isnan(a) || sf64_isnan(b) || (za && zb) || (ia && ib);
        if (bad) return SF64_NAN;
        if (ia || zb) return sign | SF64_INF;
        if (za || ib) return sign;
        uint na = ea == 0u ? sf64_clz(sa) - 11u : 0u;
        uint nb = eb == 0u ? sf64_clz(sb) - 11u : 0u;
        sa <<= na;
        sb <<= nb;
        e += (int)(ea == 0u) - (int)(eb == 0u) - (int)na + (int)nb;
    }
    sa |= SF64_HIDDEN;
    sb |= SF64_HIDDEN;
    uint n = sa < sb ? 1u : 0u;
    sa <<= n;
    ulong q = sf64_mul_high(sa << 2, sf64_recip(sb << 11), false);
    ulong rem = (sa << 54) - q * sb;
    bool low = rem >= sb;
    q += (ulong)low;
    rem -= low ? sb : 0ul;
    return sign | sf64_round_tiny(e - (int)n, (q << 9) | (ulong)(rem != 0ul));
}

static inline ulong sf64_from_ulong(ulong x) {
    if (x == 0ul) return 0ul;
    uint n = sf64_clz(x);
    return sf64_round((int)(1086u - n), x << n);
}

static inline ulong sf64_from_u128(ulong hi, ulong lo) {
    if (hi == 0ul) return sf64_from_ulong(lo);
    uint n = sf64_clz(hi);
    ulong top = (hi << n) | ((lo >> 1) >> (63u - n)) | (ulong)((lo << n) != 0ul);
    return sf64_from_ulong(top) + ((ulong)(64u - n) << 52);
}

static inline ulong sf64_from_i128(long hi, ulong lo) {
    ulong h = (ulong)hi;
    if (hi >= 0) return sf64_from_u128(h, lo);
    return SF64_SIGN | sf64_from_u128(~h + (ulong)(lo == 0ul), 0ul - lo);
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
kernel void aggregate_mean_i64(
    device const long* in [[buffer(0)]],
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
            long x = in[p.off + row];
            s.low += (ulong)x;
            s.high += (s.low < (ulong)x ? 1ul : 0ul) + (x < 0 ? ~0ul : 0ul);
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
        out[0] = ok ? (ulong)(sf64_div(sf64_from_i128((long)s.high, s.low), sf64_from_ulong(s.valid))) : (ulong)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// mean of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_mean_i64_pending(
    device const long* in [[buffer(0)]],
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
            long x = in[p.off + row];
            s.low += (ulong)x;
            s.high += (s.low < (ulong)x ? 1ul : 0ul) + (x < 0 ? ~0ul : 0ul);
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
        out[0] = ok ? (ulong)(sf64_div(sf64_from_i128((long)s.high, s.low), sf64_from_ulong(s.valid))) : (ulong)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// mean of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_mean_i64_nulls(
    device const long* in [[buffer(0)]],
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
            long x = in[p.off + row];
            s.low += (ulong)x;
            s.high += (s.low < (ulong)x ? 1ul : 0ul) + (x < 0 ? ~0ul : 0ul);
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
        out[0] = ok ? (ulong)(sf64_div(sf64_from_i128((long)s.high, s.low), sf64_from_ulong(s.valid))) : (ulong)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}

// mean of the rows of one threadgroup, from the rows to the result.
kernel void aggregate_mean_i64_nulls_pending(
    device const long* in [[buffer(0)]],
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
            long x = in[p.off + row];
            s.low += (ulong)x;
            s.high += (s.low < (ulong)x ? 1ul : 0ul) + (x < 0 ? ~0ul : 0ul);
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
        out[0] = ok ? (ulong)(sf64_div(sf64_from_i128((long)s.high, s.low), sf64_from_ulong(s.valid))) : (ulong)0;
        out_valid[0] = ok ? 1u : 0u;
    }
}
