package msl

import (
	"math/bits"
	"math/rand/v2"
)

// softFormat is a binary interchange format, so that binary32 and binary64
// meet the same kinds of operands.
type softFormat struct {
	frac, exp uint // field widths in bits
}

var (
	softBinary32 = softFormat{frac: 23, exp: 8}
	softBinary64 = softFormat{frac: 52, exp: 11}
)

type softPair struct{ a, b uint64 }

func (f softFormat) width() uint   { return 1 + f.exp + f.frac }
func (f softFormat) special() int  { return 1<<f.exp - 1 }
func (f softFormat) bias() int     { return 1<<(f.exp-1) - 1 }
func (f softFormat) sign() uint64  { return 1 << (f.exp + f.frac) }
func (f softFormat) mask() uint64  { return f.sign()<<1 - 1 }
func (f softFormat) fracs() uint64 { return 1<<f.frac - 1 }

func (f softFormat) exponent(x uint64) int { return int(x>>f.frac) & f.special() }

// pack joins a sign (bit 0), an exponent field, kept finite, and a fraction.
func (f softFormat) pack(sign uint64, e int, frac uint64) uint64 {
	e = max(0, min(e, f.special()-1))
	return (sign&1)<<(f.exp+f.frac) | uint64(e)<<f.frac | frac&f.fracs()
}

// scaled gives sig, whose leading one becomes the hidden bit, the exponent
// field e, with bits beyond the fraction cut off.
func (f softFormat) scaled(sign uint64, e int, sig uint64) uint64 {
	sig <<= uint(bits.LeadingZeros64(sig))
	return f.pack(sign, e, sig>>(63-f.frac))
}

// edges crosses every class of value with itself.
func (f softFormat) edges() []softPair {
	one := uint64(f.bias()) << f.frac
	inf := uint64(f.special()) << f.frac
	values := []uint64{0, 1, 2, 3, f.fracs() - 1, f.fracs(), inf, inf | 1, inf | 1<<(f.frac-1), inf | f.fracs()}
	ends := []uint64{1 << f.frac, one, inf - 1<<f.frac, one + 5<<f.frac, one - 5<<f.frac, inf >> 1 &^ f.fracs()}
	for _, v := range ends {
		values = append(values, v-1, v, v+1, v|f.fracs(), v|f.fracs()-1, v|1<<(f.frac-1), v|(1<<(f.frac-1)+1))
	}
	for shift := uint(0); shift < f.frac; shift += 3 {
		values = append(values, 1<<shift, one+1<<shift)
	}
	for gap := -int(f.frac) - 4; gap <= int(f.frac)+4; gap += 2 {
		values = append(values, f.pack(0, f.bias()+gap, 0))
	}
	for e := 1; e < f.special(); e += 1 << (f.exp - 4) {
		values = append(values, f.pack(0, e, 0))
	}
	pairs := make([]softPair, 0, 4*len(values)*len(values))
	for _, a := range values {
		for _, b := range values {
			pairs = append(pairs, softPair{a, b}, softPair{a | f.sign(), b},
				softPair{a, b | f.sign()}, softPair{a | f.sign(), b | f.sign()})
		}
	}
	return pairs
}

// softKinds are the kinds of random operands, each aimed at one way to be wrong.
var softKinds = []func(f softFormat, r *rand.Rand) softPair{
	// Uniform bits.
	func(f softFormat, r *rand.Rand) softPair { return softPair{r.Uint64(), r.Uint64()} },
	// Close exponents.
	func(f softFormat, r *rand.Rand) softPair {
		a := r.Uint64() & f.mask()
		gap := r.IntN(2*int(f.frac)+9) - int(f.frac) - 4
		return softPair{a, f.pack(r.Uint64(), f.exponent(a)+gap, r.Uint64())}
	},
	// Nearly equal: cancellation, quotients around one.
	func(f softFormat, r *rand.Rand) softPair {
		a := r.Uint64() & f.mask()
		return softPair{a, (a ^ r.Uint64()&f.sign()) + r.Uint64N(9) - 4}
	},
	// Sums halfway between two values, or one unit off: b is half an ulp of a.
	func(f softFormat, r *rand.Rand) softPair {
		a := f.pack(r.Uint64(), r.IntN(f.special()), r.Uint64())
		half := f.pack(r.Uint64(), f.exponent(a)-int(f.frac)-1-r.IntN(2), 0)
		return softPair{a, half + r.Uint64N(3) - 1}
	},
	// Products of exactly one bit more than the format keeps, results of any size.
	func(f softFormat, r *rand.Rand) softPair {
		n := 1 + uint(r.IntN(int(f.frac)))
		x := r.Uint64()>>(64-n) | 1 | 1<<(n-1)
		y := r.Uint64()>>(64-(f.frac+2-n)) | 1 | 1<<(f.frac+1-n)
		ea := 1 + r.IntN(f.special()-1)
		eb := f.bias() - ea + r.IntN(2*int(f.frac)) - int(f.frac) + r.IntN(2)*f.bias()
		return softPair{f.scaled(r.Uint64(), ea, x), f.scaled(r.Uint64(), eb, y)}
	},
	// Quotients next to a midpoint: a is a midpoint times b, rounded.
	func(f softFormat, r *rand.Rand) softPair {
		b := r.Uint64()>>(63-f.frac) | 1<<f.frac
		m := r.Uint64()>>(62-f.frac) | 1 | 1<<(f.frac+1)
		hi, lo := bits.Mul64(m, b)
		n := uint(bits.LeadingZeros64(hi))
		sig := hi<<n | lo>>1>>(63-n)
		if hi == 0 {
			sig = lo
		}
		eb := 1 + r.IntN(f.special()-1)
		ea := eb + r.IntN(2*int(f.frac)) - int(f.frac) - r.IntN(2)*f.bias()
		return softPair{f.scaled(r.Uint64(), ea, sig) + r.Uint64N(3) - 1, f.scaled(r.Uint64(), eb, b)}
	},
	// Few bits, or long runs of ones.
	func(f softFormat, r *rand.Rand) softPair {
		sparse := func() uint64 {
			x := bit(r)
			x ^= bit(r)
			return r.Uint64()&f.sign() ^ (x - r.Uint64()&1)
		}
		return softPair{sparse(), sparse()}
	},
	// Products that are subnormal or overflow.
	func(f softFormat, r *rand.Rand) softPair {
		a := r.Uint64() & f.mask()
		e := f.bias() - f.exponent(a) + r.IntN(int(f.frac)+6) - int(f.frac) - 3
		if r.Uint64()&3 == 0 {
			e = f.bias() + f.special() - f.exponent(a) - r.IntN(3)
		}
		return softPair{a, f.pack(r.Uint64(), e, r.Uint64())}
	},
	// Quotients that are subnormal or overflow.
	func(f softFormat, r *rand.Rand) softPair {
		a := r.Uint64() & f.mask()
		e := f.exponent(a) + f.bias() + r.IntN(int(f.frac)+6) - 3
		if r.Uint64()&3 == 0 {
			e = f.exponent(a) - f.bias() - r.IntN(3)
		}
		return softPair{a, f.pack(r.Uint64(), e, r.Uint64())}
	},
	// Squares of values and of midpoints, or one unit off, of every size.
	func(f softFormat, r *rand.Rand) softPair {
		m := r.Uint64()>>(62-f.frac) | 1<<(f.frac+1)
		if r.Uint64()&1 == 0 {
			m = m >> (f.frac/2 + 2) << (f.frac/2 + 2) // no more bits than make an exact square
		}
		hi, lo := bits.Mul64(m, m)
		n := uint(bits.LeadingZeros64(hi))
		sig := hi<<n | lo>>1>>(63-n)
		if hi == 0 {
			sig = lo
		}
		a := f.scaled(0, r.IntN(f.special()), sig)
		return softPair{a + r.Uint64N(3) - 1, f.scaled(0, r.IntN(f.special()), m)}
	},
	// Subnormals with anything.
	func(f softFormat, r *rand.Rand) softPair {
		p := softPair{r.Uint64() & (f.sign() | f.fracs()>>r.IntN(int(f.frac))), r.Uint64()}
		if r.Uint64()&1 == 0 {
			p.a, p.b = p.b, p.a
		}
		return p
	},
}

// softNumbers are operands of the conversions: integers of every length, and
// values at and beside the midpoints of a narrower format.
var softNumbers = []func(r *rand.Rand) softPair{
	// Integers of 64 and 128 bits.
	func(r *rand.Rand) softPair {
		a, b := r.Uint64()>>r.IntN(64), r.Uint64()
		if r.Uint64()&1 == 0 {
			a = -a
		}
		return softPair{a, b << r.IntN(64)}
	},
	// 64-bit integers halfway between two values, or one off.
	func(r *rand.Rand) softPair {
		m := r.Uint64()>>10 | 1 | 1<<53
		a := m<<r.IntN(11) + r.Uint64N(3) - 1
		if r.Uint64()&1 == 0 {
			a = -a
		}
		return softPair{a, r.Uint64()}
	},
	// 128-bit integers halfway between two values, or one off.
	func(r *rand.Rand) softPair {
		m := r.Uint64()>>10 | 1 | 1<<53
		shift := 11 + r.IntN(64)
		hi, lo := m<<max(shift-64, 0)>>max(64-shift, 0), m<<shift
		off := r.IntN(3) - 1
		lo, carry := bits.Add64(lo, uint64(off), 0)
		hi += carry + uint64(off>>63)
		if r.Uint64()&1 == 0 {
			lo, carry = bits.Sub64(0, lo, 0)
			hi = -hi - carry
		}
		return softPair{hi, lo}
	},
	// Binary64 at and beside the midpoints of binary32, subnormals and overflow
	// included.
	func(r *rand.Rand) softPair {
		e := 1023 + r.IntN(284) - 154
		keep := uint(29)
		if e < 897 {
			keep = min(uint(29+897-e), 52)
		}
		a := softBinary64.pack(r.Uint64(), e, r.Uint64()>>keep<<keep|1<<(keep-1))
		return softPair{a + r.Uint64N(3) - 1, r.Uint64()}
	},
}

// bit has one bit set.
func bit(r *rand.Rand) uint64 { return 1 << r.IntN(64) }
