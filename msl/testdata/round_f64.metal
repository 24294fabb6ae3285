#include <metal_stdlib>
using namespace metal;

#define ERR_OVERFLOW 1u

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
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

static inline ulong sf64_mul(ulong a, ulong b) {
    ulong sign = (a ^ b) & SF64_SIGN;
    uint ea = (uint)(a >> 52) & 0x7ffu;
    uint eb = (uint)(b >> 52) & 0x7ffu;
    ulong sa = a & SF64_FRAC;
    ulong sb = b & SF64_FRAC;
    int e = (int)(ea + eb) - 1022;
    if (ea - 1u >= 0x7feu || eb - 1u >= 0x7feu) {
        bool za = (a & ~SF64_SIGN) == 0ul;
        bool zb = (b & ~SF64_SIGN) == 0ul;
        if (ea == 0x7ffu || eb == 0x7ffu) {
            bool bad = sf64_isnan(a) || sf64_isnan(b) || za || zb;
            return bad ? SF64_NAN : sign | SF64_INF;
        }
        if (za || zb) return sign;
        uint na = ea == 0u ? sf64_clz(sa) - 11u : 0u;
        uint nb = eb == 0u ? sf64_clz(sb) - 11u : 0u;
        sa <<= na;
        sb <<= nb;
        e += (int)(ea == 0u) + (int)(eb == 0u) - (int)(na + nb);
    }
    ulong p = sf64_mul_high((sa | SF64_HIDDEN) << 11, (sb | SF64_HIDDEN) << 11, true);
    uint n = (uint)(p >> 63) ^ 1u;
    return sign | sf64_round_tiny(e - (int)n, p << n);
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

#define SIGN_BIT 0x8000000000000000ul

#define INFINITE 0x7ff0000000000000ul

#define ONE 0x3ff0000000000000ul

#define BIAS 1023

#define FRACTION 52

struct f64 {
    ulong bits;
};

// An integer near a, with a's sign: the mode is the floor (0), the ceiling, towards zero, away from it, or the nearest,
// where ties go down (4), up, towards zero, away from it, to the even or to the odd one (9).
static inline f64 integral(f64 a, uint mode) {
    ulong sign = a.bits & SIGN_BIT, size = a.bits ^ sign;
    if (size == 0 || size >= (ulong)(BIAS + FRACTION) << FRACTION) return a;
    ulong whole = 0, step = ONE;
    bool odd = false, tie, more;
    if (size < ONE) {
        ulong middle = (ulong)(BIAS - 1) << FRACTION;
        tie = size == middle;
        more = size > middle;
    } else {
        uint places = (uint)(BIAS + FRACTION) - (uint)(size >> FRACTION);
        step = (ulong)1 << places;
        ulong rest = size & (step - 1);
        if (rest == 0) return a;
        whole = size - rest;
        odd = (size & step) != 0;
        tie = rest == step >> 1;
        more = rest > step >> 1;
    }
    bool away = mode == 3u || mode == 7u || mode == (sign != 0 ? 0u : 1u) || mode == (sign != 0 ? 4u : 5u) ||
                mode == (odd ? 8u : 9u);
    if (mode >= 4u && !tie) away = more;
    return f64{sign | (away ? whole + step : whole)};
}

// Rounds to multiples of unit, or with 16 in the mode to multiples of one unit-th. Multiples stay as they are.
static inline f64 round_to(f64 a, f64 unit, uchar mode, thread uint& bad) {
    ulong sign = a.bits & SIGN_BIT;
    if ((a.bits & ~SIGN_BIT) >= INFINITE) return a;
    bool up = (mode & 16u) != 0u;
    f64 scaled = f64{up ? sf64_mul(a.bits, unit.bits) : sf64_div(a.bits, unit.bits)};
    if ((scaled.bits & ~SIGN_BIT) >= INFINITE) {
        bad |= ERR_OVERFLOW;
        return a;
    }
    bool tiny = (scaled.bits & ~SIGN_BIT) == 0 && a.bits != sign; // only the sign is left of it
    if (tiny) scaled = f64{sign | 1};
    f64 r = integral(scaled, (uint)(mode & 15u));
    if (r.bits == scaled.bits) return a;
    if ((r.bits & ~SIGN_BIT) != 0) r = f64{up ? sf64_div(r.bits, unit.bits) : sf64_mul(r.bits, unit.bits)};
    if ((r.bits & ~SIGN_BIT) >= INFINITE) {
        bad |= ERR_OVERFLOW;
        return a;
    }
    return r;
}

struct Args {
    ulong n;
    ulong a_off;
    ulong b_off;
    ulong c_off;
    ulong a_valid;
    ulong b_valid;
    ulong c_valid;
    uint a_stride;
    uint b_stride;
    uint c_stride;
    uint pad;
};

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

// out = round_to(a, b, c, bad)
kernel void round_f64(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_cnulls(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_pending(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_cnulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_bnulls(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_bcnulls(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_bnulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_bcnulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_anulls(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_acnulls(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_anulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_acnulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_abnulls(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_nulls(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_abnulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_nulls_pending(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}
