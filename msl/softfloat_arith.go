package msl

// softArith64 is binary64 add, subtract, multiply, divide and compare.
//
// A significand on its way to rounding stands with its leading one in bit 63:
// 53 bits of result, 11 bits below them, the lowest of which is sticky ("jam").
// Adding the significand, hidden one included, to the exponent field minus one
// makes carries, subnormals and overflow come out right without a branch.
//
// Division: with d = D / 2^64 in [1/2, 1), Newton steps r' = r(2 - dr) start
// from the line 48/17 - 32/17 d (error 1/17) and round downwards, so every r'
// is below 1/d: never too large for 32 bits. After three steps the relative
// error is under 2^-29 and after the 64-bit step under 2^-57; the quotient of
// 55 bits is then short by at most one, which its remainder shows.
const softArith64 = `
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

static inline ulong sf64_add(ulong a, ulong b) {
    bool swap = (a & ~SF64_SIGN) < (b & ~SF64_SIGN);
    ulong x = swap ? b : a;
    ulong y = swap ? a : b;
    uint ex = (uint)(x >> 52) & 0x7ffu;
    uint ey = (uint)(y >> 52) & 0x7ffu;
    bool differ = ((x ^ y) & SF64_SIGN) != 0ul;
    if (ex == 0x7ffu) {
        bool bad = sf64_isnan(x) || (ey == 0x7ffu && differ);
        return bad ? SF64_NAN : x;
    }
    ulong sx = ((x & SF64_FRAC) | (ex != 0u ? SF64_HIDDEN : 0ul)) << 10;
    ulong sy = ((y & SF64_FRAC) | (ey != 0u ? SF64_HIDDEN : 0ul)) << 10;
    ex = ex != 0u ? ex : 1u;
    ey = ey != 0u ? ey : 1u;
    sy = sf64_shift_jam(sy, ex - ey);
    ulong sum = differ ? sx - sy : sx + sy;
    if (sum == 0ul) return x & y & SF64_SIGN;
    uint n = sf64_clz(sum);
    n = n < ex ? n : ex;
    return (x & SF64_SIGN) | sf64_round((int)(ex + 1u - n), sum << n);
}

static inline ulong sf64_sub(ulong a, ulong b) {
    return sf64_add(a, b ^ SF64_SIGN);
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

static inline bool sf64_eq(ulong a, ulong b) {
    bool zero = ((a | b) & ~SF64_SIGN) == 0ul;
    return !sf64_isnan(a) && !sf64_isnan(b) && (a == b || zero);
}

static inline bool sf64_lt(ulong a, ulong b) {
    bool zero = ((a | b) & ~SF64_SIGN) == 0ul;
    return !sf64_isnan(a) && !sf64_isnan(b) && !zero && sf64_total_key(a) < sf64_total_key(b);
}

static inline bool sf64_le(ulong a, ulong b) {
    bool zero = ((a | b) & ~SF64_SIGN) == 0ul;
    return !sf64_isnan(a) && !sf64_isnan(b) && (zero || sf64_total_key(a) <= sf64_total_key(b));
}
`
