package msl

// softNative64 gives the functions of softArith64, softSqrt64 and softConvert64
// by the device's own double.
const softNative64 = `
static inline ulong sf64_add(ulong a, ulong b) {
    return as_type<ulong>(as_type<double>(a) + as_type<double>(b));
}

static inline ulong sf64_sub(ulong a, ulong b) {
    return as_type<ulong>(as_type<double>(a) - as_type<double>(b));
}

static inline ulong sf64_mul(ulong a, ulong b) {
    return as_type<ulong>(as_type<double>(a) * as_type<double>(b));
}

static inline ulong sf64_div(ulong a, ulong b) {
    return as_type<ulong>(as_type<double>(a) / as_type<double>(b));
}

static inline ulong sf64_sqrt(ulong a) {
    return as_type<ulong>(sqrt(as_type<double>(a)));
}

static inline bool sf64_eq(ulong a, ulong b) {
    return as_type<double>(a) == as_type<double>(b);
}

static inline bool sf64_lt(ulong a, ulong b) {
    return as_type<double>(a) < as_type<double>(b);
}

static inline bool sf64_le(ulong a, ulong b) {
    return as_type<double>(a) <= as_type<double>(b);
}

static inline ulong sf64_from_ulong(ulong x) {
    return as_type<ulong>((double)x);
}

static inline ulong sf64_from_long(long x) {
    return as_type<ulong>((double)x);
}

static inline ulong sf64_from_float_bits(uint a) {
    return as_type<ulong>((double)as_type<float>(a));
}

static inline uint sf64_to_float_bits(ulong a) {
    return as_type<uint>((float)as_type<double>(a));
}

static inline ulong sf64_to_ulong(ulong a) {
    double x = as_type<double>(a);
    if (!(x >= 1.0)) return 0ul;
    return x < 18446744073709551616.0 ? (ulong)x : ~0ul;
}

static inline long sf64_to_long(ulong a) {
    double x = as_type<double>(a);
    if (x >= 9223372036854775808.0) return (long)(SF64_SIGN - 1ul);
    if (x < -9223372036854775808.0) return (long)SF64_SIGN;
    return x == x ? (long)x : 0l;
}

static inline uint sf32_from_ulong(ulong x) {
    return as_type<uint>((float)x);
}

static inline uint sf32_from_long(long x) {
    return as_type<uint>((float)x);
}
`

// softNative32 is binary32 arithmetic where float keeps subnormals.
const softNative32 = `
static inline uint sf32_add(uint a, uint b) {
    return as_type<uint>(as_type<float>(a) + as_type<float>(b));
}

static inline uint sf32_sub(uint a, uint b) {
    return as_type<uint>(as_type<float>(a) - as_type<float>(b));
}

static inline uint sf32_mul(uint a, uint b) {
    return as_type<uint>(as_type<float>(a) * as_type<float>(b));
}

static inline uint sf32_div(uint a, uint b) {
    return as_type<uint>(as_type<float>(a) / as_type<float>(b));
}
`
