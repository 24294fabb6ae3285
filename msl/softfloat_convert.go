package msl

// softConvert64 converts to and from binary64. It never hands a pattern to
// float arithmetic or a float conversion: either may flush subnormals.
const softConvert64 = `
static inline ulong sf64_from_ulong(ulong x) {
    if (x == 0ul) return 0ul;
    uint n = sf64_clz(x);
    return sf64_round((int)(1086u - n), x << n);
}

static inline ulong sf64_from_long(long x) {
    ulong sign = x < 0 ? SF64_SIGN : 0ul;
    return sign | sf64_from_ulong(x < 0 ? 0ul - (ulong)x : (ulong)x);
}

static inline ulong sf64_from_float_bits(uint a) {
    ulong sign = (ulong)(a & 0x80000000u) << 32;
    uint e = (a >> 23) & 0xffu;
    uint frac = a & 0x7fffffu;
    if (e == 0xffu) return frac != 0u ? SF64_NAN : sign | SF64_INF;
    if (e != 0u) return sign | ((ulong)(e + 896u) << 52) | ((ulong)frac << 29);
    if (frac == 0u) return sign;
    uint n = (uint)clz(frac) - 8u;
    // The hidden one of the shifted fraction adds one to the exponent field.
    return sign | (((ulong)(896u - n) << 52) + ((ulong)(frac << n) << 29));
}

static inline uint sf64_to_float_bits(ulong a) {
    uint sign = (uint)(a >> 32) & 0x80000000u;
    if (sf64_isnan(a)) return 0x7fc00000u;
    int e = ((int)(a >> 52) & 0x7ff) - 896;
    if (e >= 0xff) return sign | 0x7f800000u;
    // Leading one in bit 63, as for binary64, but 24 bits are kept. Zero and
    // binary64 subnormals gain a hidden one: far below half a step all the same.
    ulong sig = ((a & SF64_FRAC) | SF64_HIDDEN) << 11;
    if (e < 1) {
        sig = sf64_shift_jam(sig, (uint)(1 - e));
        e = 1;
    }
    ulong below = (1ul << 40) - 1ul;
    uint up = (uint)(((sig & below) + (below >> 1) + ((sig >> 40) & 1ul)) >> 40);
    return sign | (((uint)(e - 1) << 23) + (uint)(sig >> 40) + up);
}

static inline ulong sf64_to_ulong(ulong a) {
    int e = (int)(a >> 52) - 1075;
    if (sf64_isnan(a) || (a & SF64_SIGN) != 0ul || e < -52) return 0ul;
    if (e > 11) return ~0ul;
    ulong sig = (a & SF64_FRAC) | SF64_HIDDEN;
    return e < 0 ? sig >> (uint)-e : sig << (uint)e;
}

static inline long sf64_to_long(ulong a) {
    ulong m = sf64_to_ulong(a & ~SF64_SIGN);
    if ((a & SF64_SIGN) == 0ul) return (long)(m < SF64_SIGN ? m : SF64_SIGN - 1ul);
    return (long)(0ul - (m < SF64_SIGN ? m : SF64_SIGN));
}

static inline uint sf32_from_ulong(ulong x) {
    if (x == 0ul) return 0u;
    uint n = sf64_clz(x);
    ulong sig = x << n;
    ulong below = (1ul << 40) - 1ul;
    uint up = (uint)(((sig & below) + (below >> 1) + ((sig >> 40) & 1ul)) >> 40);
    return ((189u - n) << 23) + (uint)(sig >> 40) + up;
}

static inline uint sf32_from_long(long x) {
    uint sign = x < 0 ? 0x80000000u : 0u;
    return sign | sf32_from_ulong(x < 0 ? 0ul - (ulong)x : (ulong)x);
}
`

// softArith32 is binary32 arithmetic in native float wherever nothing can be
// flushed: no operand is subnormal, and the result is at least twice the
// smallest normal number or is exact because an operand is zero.
//
// The rest goes through binary64, which rounds twice without harm for every
// binary32 result of p <= 24 bits, subnormal ones included: products are exact;
// sums are exact unless |y| < ulp(x)/32, where both ways give x; a quotient A/B
// of 24-bit integers that is not a midpoint M (p+1 bits) is off it by a relative
// 1/(M*B) > 2^-49, too far for a rounding error of 2^-53 to reach.
const softArith32 = `
static inline bool sf32_settled(uint a, uint b, uint r) {
    bool tiny = (a & 0x7fffffffu) - 1u < 0x7fffffu || (b & 0x7fffffffu) - 1u < 0x7fffffu;
    bool exact = ((a & 0x7fffffffu) == 0u) || ((b & 0x7fffffffu) == 0u);
    return !tiny && (exact || (r & 0x7fffffffu) >= 0x01000000u);
}

static inline uint sf32_add(uint a, uint b) {
    uint r = as_type<uint>(as_type<float>(a) + as_type<float>(b));
    if (sf32_settled(a, b, r)) return r;
    return sf64_to_float_bits(sf64_add(sf64_from_float_bits(a), sf64_from_float_bits(b)));
}

static inline uint sf32_sub(uint a, uint b) {
    return sf32_add(a, b ^ 0x80000000u);
}

static inline uint sf32_mul(uint a, uint b) {
    uint r = as_type<uint>(as_type<float>(a) * as_type<float>(b));
    if (sf32_settled(a, b, r)) return r;
    return sf64_to_float_bits(sf64_mul(sf64_from_float_bits(a), sf64_from_float_bits(b)));
}

static inline uint sf32_div(uint a, uint b) {
    uint r = as_type<uint>(as_type<float>(a) / as_type<float>(b));
    if (sf32_settled(a, b, r)) return r;
    return sf64_to_float_bits(sf64_div(sf64_from_float_bits(a), sf64_from_float_bits(b)));
}
`
