package msl

// SoftFloat64 returns kernel text that does IEEE-754 binary64 and binary32
// arithmetic on bit patterns with integers alone, for devices without double
// and with flushed float32 subnormals (Metal).
//
// Values are ulong (binary64) and uint (binary32) bit patterns:
//
//	ulong sf64_add(ulong a, ulong b)     and sf64_sub, sf64_mul, sf64_div
//	ulong sf64_sqrt(ulong a)
//	bool  sf64_lt(ulong a, ulong b)      and sf64_le, sf64_eq
//	bool  sf64_isnan(ulong a)
//	ulong sf64_total_key(ulong a)
//	ulong sf64_from_long(long x)
//	ulong sf64_from_ulong(ulong x)
//	ulong sf64_from_u128(ulong hi, ulong lo)
//	ulong sf64_from_i128(long hi, ulong lo)
//	ulong sf64_from_float_bits(uint a)
//	uint  sf64_to_float_bits(ulong a)
//	long  sf64_to_long(ulong a)          and ulong sf64_to_ulong(ulong a)
//	uint  sf32_from_long(long x)         and uint sf32_from_ulong(ulong x)
//	uint  sf32_add(uint a, uint b)       and sf32_sub, sf32_mul, sf32_div
//	uint  sf32_sqrt(uint a)
//
// Every result is rounded to nearest, ties to even, with subnormals, signed
// zeros and infinities as IEEE-754 has them. Comparisons with a NaN are false,
// and -0 equals +0; sf64_total_key instead orders all patterns as unsigned
// integers, -0 below +0 and NaNs outside the infinities on their sign's side.
// A NaN result is some quiet NaN: its sign and payload mean nothing. Overflow
// gives an infinity, division by zero an infinity or NaN, the square root of a
// number below zero a NaN and that of -0 is -0; nothing fails. Integers lose
// the fraction; beyond their limits they are the nearer one, and NaN is 0.
//
// The text stands after the device's prelude (metal_stdlib or the equivalent
// for NVRTC and g++), of which it uses uint, ulong, clz(uint) and as_type.
func SoftFloat64() string {
	return softBits + softArith64 + softSqrt64 + softConvert64 + softWiden64 + softArith32 + softSqrt32
}

// NativeFloat64 returns the functions of [SoftFloat64], same names, signatures
// and results, for devices whose double and float are IEEE-754 with subnormals
// kept (CUDA without -ftz=true). A thread that flushes subnormals, such as one
// with FTZ or DAZ set on x86, flushes those of double too and needs the soft
// text. Of the prelude it uses sqrt(double) besides.
func NativeFloat64() string {
	return softBits + softNative64 + softWiden64 + softNative32 + softSqrt32
}

// softBits needs no arithmetic and is common to both texts. The 64-bit clz is
// spelled out because a prelude that has it for uint only would narrow the
// argument in silence.
const softBits = `
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

static inline ulong sf64_total_key(ulong a) {
    return (a & SF64_SIGN) != 0ul ? ~a : a | SF64_SIGN;
}
`

// softWiden64 rounds 128-bit integers through sf64_from_ulong of the text
// before it: the top 64 significant bits with the rest jammed into bit 0 round
// as the whole does, because 53 bits and a tie stay clear of that bit.
const softWiden64 = `
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
`
