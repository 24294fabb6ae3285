package msl

// softSqrt64 is the binary64 square root. It knows nothing of the device's own
// sqrt, which Metal does not promise to round correctly.
//
// The significand is x in [1/4, 1), of 64 bits, under an even exponent, so that
// the root is in [1/2, 1) and never subnormal. Newton steps r' = r(3 - xr^2)/2
// for 1/sqrt(x) <= 2 start from the line 2.1328 - 1.2187 x (error 1/11) and
// round downwards, so every r' is below 1/sqrt(x): never too large for 32 bits.
// After four steps the relative error is under 2^-28. The root s of 32 bits is
// as good and also from below; the step s + r(x - s^2)/2 leaves less than 2^-55,
// and the root of 55 bits is then short by at most one, which its remainder
// shows. No root is a midpoint: a midpoint's square has too many bits.
const softSqrt64 = `
static inline uint sf64_rsqrt_step(uint x, uint r) {
    uint t = (uint)(((ulong)r * r) >> 32);
    uint u = (uint)(((ulong)x * t) >> 32);
    return (uint)(((ulong)r * (0xbffffffdu - u)) >> 31);
}

static inline ulong sf64_sqrt(ulong a) {
    if (sf64_isnan(a)) return SF64_NAN;
    if ((a & ~SF64_SIGN) == 0ul || a == SF64_INF) return a;
    if ((a & SF64_SIGN) != 0ul) return SF64_NAN;
    int e = (int)(a >> 52);
    ulong x = a & SF64_FRAC;
    uint n = e == 0 ? sf64_clz(x) - 11u : 0u;
    e += (int)(e == 0) - (int)n;
    uint odd = (uint)e & 1u;
    x = ((x << n) | SF64_HIDDEN) << (11u - odd);
    uint xh = (uint)(x >> 32);
    uint r = 0x74ff705au + (uint)(((ulong)~xh * 0x9bff4078u) >> 32);
    r = sf64_rsqrt_step(xh, r);
    r = sf64_rsqrt_step(xh, r);
    r = sf64_rsqrt_step(xh, r);
    r = sf64_rsqrt_step(xh, r);
    ulong s = ((ulong)xh * r) >> 31;
    ulong err = (x - s * s) >> 5;
    ulong q = ((s << 32) + ((r * err) >> 27)) >> 9;
    q += (ulong)((x << 46) - q * q > 2ul * q);
    // Sticky for an exact root as well: its 27 bits at most leave zeros to round away.
    return sf64_round((e + 1022 + (int)odd) >> 1, (q << 9) | 1ul);
}
`

// softSqrt32 is the binary32 square root of both texts. Going through binary64
// rounds twice without harm, because 53 >= 2*24 + 2.
const softSqrt32 = `
static inline uint sf32_sqrt(uint a) {
    return sf64_to_float_bits(sf64_sqrt(sf64_from_float_bits(a)));
}
`
