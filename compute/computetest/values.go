package computetest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
)

// flavour is the kind of values that a column holds.
type flavour uint8

const (
	random   flavour = iota // any bit pattern of the type
	specials                // half of them values at which kernels go wrong
	constant                // one value for all
	small                   // values with which nothing overflows or divides by zero
)

var flavours = []string{"random", "specials", "constant", "small"}

func (f flavour) String() string { return flavours[f] }

// source makes the values of one argument.
type source struct {
	rng   *rand.Rand
	t     arrow.DataType
	kind  flavour
	arg   int // of the call; small values of the first are larger than those of the second
	fixed any
}

func (s *source) next() any {
	switch s.kind {
	case specials:
		if s.rng.IntN(2) == 0 {
			return s.special()
		}
	case small:
		return s.small()
	case constant:
		if s.fixed == nil {
			s.fixed = s.anyValue()
		}
		return s.fixed
	}
	return s.anyValue()
}

// anyValue is a random bit pattern; half of the integers are short, so that pairs meet.
func (s *source) anyValue() any {
	t := s.t
	bits := s.rng.Uint64()
	if s.rng.IntN(2) == 0 {
		bits = uint64(int64(bits) >> s.rng.IntN(64))
	}
	switch {
	case t.ID() == arrow.BOOL:
		return bits&1 == 0
	case t.ID() == arrow.FLOAT32:
		return math.Float32frombits(uint32(s.rng.Uint64()))
	case t.ID() == arrow.FLOAT64:
		return math.Float64frombits(s.rng.Uint64())
	case isDictionary(t):
		w := words(bare(t))
		return w[s.rng.IntN(len(w))]
	case isString(t):
		return s.text()
	case isUnsigned(t):
		return bits << (64 - bitsOf(t)) >> (64 - bitsOf(t))
	case isSigned(t):
		return int64(bits) << (64 - bitsOf(t)) >> (64 - bitsOf(t))
	case t.ID() == arrow.NULL:
		return nil
	}
	panic(fmt.Sprintf("computetest: no values of type %s", t))
}

// small is at most 14 in size: sums, differences of unsigned values, products and quotients all fit.
func (s *source) small() any {
	t, v := s.t, 1+s.rng.Int64N(7)
	if s.arg == 0 {
		v += 7
	}
	switch {
	case isUnsigned(t):
		return uint64(v)
	case t.ID() == arrow.FLOAT32:
		return float32(v) / 4
	case t.ID() == arrow.FLOAT64:
		return float64(v) / 4
	case isTime(t):
		return v
	case isSigned(t):
		return v * (1 - 2*s.rng.Int64N(2))
	}
	return s.anyValue()
}

var (
	floatSpecials = []float64{
		0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 0.1,
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, 0x1.fffffffffffffp-1023, 0x1p53, -0x1p63,
	}
	singleSpecials = []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0.1,
		math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 0x1p-126, 0x1.fffffcp-127, 2.938736e-39, 0x1p24, -0x1p63,
	}
)

// special is a value at which kernels go wrong.
func (s *source) special() any {
	t := s.t
	switch {
	case t.ID() == arrow.FLOAT32:
		return singleSpecials[s.rng.IntN(len(singleSpecials))]
	case t.ID() == arrow.FLOAT64:
		return floatSpecials[s.rng.IntN(len(floatSpecials))]
	case isUnsigned(t):
		top := uint64(math.MaxUint64) >> (64 - bitsOf(t))
		return []uint64{0, 1, top, top - 1, top/2 + 1, top / 2}[s.rng.IntN(6)]
	case isTime(t):
		day := 86_400 * ticks[unitOf(t)]
		return []int64{0, 1, day - 1, day / 2, 3600 * ticks[unitOf(t)]}[s.rng.IntN(5)]
	case isSigned(t) && !isDictionary(t):
		top := int64(math.MaxInt64) >> (64 - bitsOf(t))
		return []int64{0, 1, -1, top, -top - 1, top - 1, -top, 2}[s.rng.IntN(8)]
	}
	return s.anyValue()
}

// bait is a value to lie under nulls: what would overflow, divide by zero or spread NaN if a kernel looked.
func (s *source) bait() any {
	t := s.t
	switch {
	case t.ID() == arrow.FLOAT32:
		return []float32{float32(math.NaN()), 0, float32(math.Inf(-1)), math.MaxFloat32}[s.rng.IntN(4)]
	case t.ID() == arrow.FLOAT64:
		return []float64{math.NaN(), 0, math.Inf(-1), math.MaxFloat64}[s.rng.IntN(4)]
	case isUnsigned(t):
		return []uint64{0, math.MaxUint64 >> (64 - bitsOf(t))}[s.rng.IntN(2)]
	case isSigned(t) && !isDictionary(t):
		top := int64(math.MaxInt64) >> (64 - bitsOf(t))
		return []int64{0, -1, -top - 1, top}[s.rng.IntN(4)]
	}
	return s.anyValue()
}

// words are the entries of dictionaries.
func words(t arrow.DataType) []any {
	if t.ID() == arrow.INT64 {
		return []any{int64(7), int64(1), int64(-3), int64(12), int64(5)}
	}
	return []any{"", "a", "ab", "b", "été"}
}
