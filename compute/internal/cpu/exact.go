package cpu

import (
	"math"
	"math/bits"
)

// Exact is the exact sum of float64 values as a fixed-point number that covers
// the whole range of the type (a small superaccumulator after R. M. Neal,
// "Fast exact summation using small and large superaccumulators", 2015). Its
// zero value is the empty sum. Whatever the order, the grouping and the merges,
// the same values round to the same bits.
//
// Chunk i counts units of 2^(32i-1074), 2^-1074 being the smallest subnormal.
// Neighbours overlap by 32 bits, so that 2^30 additions of 32-bit pieces need
// no carry.
type Exact struct {
	chunk   [exactChunks]int64
	pending int // upper bound of the 32-bit pieces in any chunk but the last
	special special
}

const (
	exactChunks  = 67
	exactPending = 1 << 30
	low32        = 1<<32 - 1
	fraction     = 1<<52 - 1
	maxExponent  = 0x7ff
)

// special records the values that decide a sum whatever the others are.
type special uint8

const (
	sawNaN special = 1 << iota
	sawPosInf
	sawNegInf
)

// AddFloat64s adds the valid values.
func (e *Exact) AddFloat64s(values []float64, valid Bitmap) { addFloats(e, values, valid) }

// AddFloat32s adds the valid values, which widen exactly.
func (e *Exact) AddFloat32s(values []float32, valid Bitmap) { addFloats(e, values, valid) }

// A window sums values whose exponents lie within 64 of each other in 128 bits,
// which takes half the time of adding to the chunks. It only chooses the road
// a value takes, never the result.
type window struct {
	hi, lo uint64 // two's complement, in units of 2^(base-1075)
	base   uint64 // smallest exponent field taken, at least 1
}

const (
	// windowRows values of 53+63 bits fit 128 bits.
	windowRows = 1024
	// windowHeadroom exponents above the largest seen stay inside, so that
	// slowly growing values do not fall out.
	windowHeadroom = 8
	maxBase        = maxExponent - 64
	// windowMisses in one block make the next block choose its window anew.
	windowMisses = windowRows / 32
	// windowRest blocks do without a window when one in four values missed it.
	windowRest = 16
)

func addFloats[T Float](e *Exact, values []T, valid Bitmap) {
	done := simdAddFloats(e, values, valid)
	if done == len(values) {
		return
	}
	rows := validRows[T]{values: values[done:], valid: valid.Slice(done)}
	split := newSplitter(e, rows.values)
	for v := rows.next(); v != nil; v = rows.next() {
		for len(v) > 0 {
			block := v[:min(len(v), exactRows)]
			v = v[len(block):]
			if !split.add(block, nil, false) {
				addWindows(e, block, Bitmap{})
			}
		}
	}
}

// addWindows adds the valid values through windows.
func addWindows[T Float](e *Exact, values []T, valid Bitmap) {
	rows := validRows[T]{values: values, valid: valid}
	var w window
	misses, rest := windowRows, 0
	for v := rows.next(); v != nil; v = rows.next() {
		for len(v) > 0 {
			block := v[:min(len(v), windowRows)]
			v = v[len(block):]
			if rest > 0 {
				rest--
				addEach(e, block)
				continue
			}
			if misses > windowMisses {
				w.base = chooseBase(block)
			}
			w.hi, w.lo, misses = addBlock(e, w.base, block)
			e.addWindow(w)
			if misses > len(block)/4 {
				rest = windowRest
			}
		}
	}
}

// chooseBase places the window so that the largest finite value is in it.
func chooseBase[T Float](values []T) uint64 {
	top := uint64(0)
	for _, v := range values {
		exp := math.Float64bits(float64(v)) >> 52 & maxExponent
		if exp == maxExponent {
			exp = 0
		}
		top = max(top, exp)
	}
	base := int(top) + windowHeadroom - 63
	return uint64(min(max(base, 1), maxBase))
}

// addBlock sums at most windowRows values, adds those outside the window to e
// and returns the sum of the others and how many missed.
func addBlock[T Float](e *Exact, base uint64, values []T) (hi, lo uint64, misses int) {
	for _, v := range values {
		b := math.Float64bits(float64(v))
		exp := b >> 52 & maxExponent
		// Normal numbers have a leading one; exponent 0 adds none, so that
		// zeros are zero and pass through the window like everything else.
		m := b&fraction | (exp+maxExponent)>>11<<52
		shift := exp - base
		if m == 0 {
			shift = 0
		}
		if shift > 63 {
			addEach(e, []T{v})
			misses++
			continue
		}
		sign := uint64(int64(b) >> 63)
		m = (m ^ sign) - sign
		var carry uint64
		lo, carry = bits.Add64(lo, m<<(shift&63), 0)
		hi, _ = bits.Add64(hi, uint64(int64(m)>>1>>(^shift&63)), carry)
	}
	return hi, lo, misses
}

// addWindow adds the sum in a window.
func (e *Exact) addWindow(w window) {
	position := w.base - 1
	c, s := position>>5, position&31
	mid := w.hi<<s | w.lo>>(64-s)
	low := w.lo << s
	e.count(1)
	p := (*[5]int64)(e.chunk[c:])
	p[0] += int64(low & low32)
	p[1] += int64(low >> 32)
	p[2] += int64(mid & low32)
	p[3] += int64(mid >> 32)
	p[4] += int64(w.hi) >> (64 - s)
}

// Add adds one value.
func (e *Exact) Add(v float64) { addEach(e, []float64{v}) }

// addEach adds at most windowRows values to the chunks, one by one.
func addEach[T Float](e *Exact, values []T) {
	e.count(len(values))
	for _, v := range values {
		b := math.Float64bits(float64(v))
		exp := b >> 52 & maxExponent
		if exp == maxExponent {
			e.special |= specialOf(b)
			continue
		}
		normal := (exp + maxExponent) >> 11
		m := b&fraction | normal<<52
		position := exp - normal // subnormals share exponent 1's
		c, s := position>>5&63, position&31
		sign := int64(b) >> 63
		low := m << s
		p := (*[3]int64)(e.chunk[c:])
		p[0] += (int64(low&low32) ^ sign) - sign
		p[1] += (int64(low>>32) ^ sign) - sign
		p[2] += (int64(m>>1>>(s^63)) ^ sign) - sign
	}
}

// specialOf classifies the bits of a value that is not finite.
func specialOf(b uint64) special {
	switch {
	case b&fraction != 0:
		return sawNaN
	case int64(b) < 0:
		return sawNegInf
	}
	return sawPosInf
}

// count makes room for n additions, carrying in time.
func (e *Exact) count(n int) {
	if e.pending += n; e.pending >= exactPending {
		e.carry()
		e.pending += n
	}
}

// carry brings all chunks but the last, which holds the sign, to 0..2^32-1.
func (e *Exact) carry() {
	var carry int64
	for i := range e.chunk[:exactChunks-1] {
		c := e.chunk[i] + carry
		e.chunk[i] = c & low32
		carry = c >> 32
	}
	e.chunk[exactChunks-1] += carry
	e.pending = 1
}

// Merge adds the sum o, which it leaves as it is.
func (e *Exact) Merge(o *Exact) {
	if e.pending+o.pending >= exactPending {
		carried := *o
		carried.carry()
		e.carry()
		o = &carried
	}
	for i, c := range o.chunk {
		e.chunk[i] += c
	}
	e.pending += o.pending
	e.special |= o.special
}

// Round returns the float64 nearest to the exact sum, ties to even: an
// infinity when the sum lies beyond the largest float64 by half a unit or
// more, NaN when a NaN or both infinities were added, +0 when it is zero.
func (e *Exact) Round() float64 {
	switch e.special {
	case 0:
	case sawPosInf:
		return math.Inf(1)
	case sawNegInf:
		return math.Inf(-1)
	default:
		return math.NaN()
	}
	sum := *e
	sum.carry()
	var sign uint64
	if sum.chunk[exactChunks-1] < 0 {
		sign = 1 << 63
		for i := range sum.chunk {
			sum.chunk[i] = -sum.chunk[i]
		}
		sum.carry()
	}
	return math.Float64frombits(sign | sum.roundMagnitude())
}

// roundMagnitude returns the bits of a carried sum that is not negative.
func (e *Exact) roundMagnitude() uint64 {
	top := exactChunks - 1
	for top > 0 && e.chunk[top] == 0 {
		top--
	}
	// The three highest chunks hold all bits that can appear in the result
	// and at least one more.
	var w [3]uint64
	for i := range w {
		if top-i >= 0 {
			w[i] = uint64(e.chunk[top-i])
		}
	}
	if top == exactChunks-1 && w[0]>>32 != 0 {
		return math.Float64bits(math.Inf(1))
	}
	// hi:lo is the value with chunk top in the upper half of hi.
	hi, lo := w[0]<<32|w[1], w[2]<<32
	sticky := false
	for i := top - 3; i >= 0 && !sticky; i-- {
		sticky = e.chunk[i] != 0
	}
	if hi == 0 {
		return 0
	}
	lead := uint(bits.LeadingZeros64(hi))
	high := 32*top + 31 - int(lead) // position of the leading bit, 0 for 2^-1074
	if high <= 52 {
		// All of it fits the fraction and the lowest exponent bit. Chunks 0
		// and 1 are the whole value.
		if top == 0 {
			return hi >> 32
		}
		return hi
	}
	m := hi<<lead | lo>>(64-lead)
	sticky = sticky || lo<<lead != 0
	mantissa, rest := m>>11, m<<53
	// The leading one of the mantissa raises the exponent field to its value,
	// and so does a carry out of rounding.
	out := uint64(high-53+1)<<52 + mantissa
	if rest > 1<<63 || rest == 1<<63 && (sticky || mantissa&1 != 0) {
		out++
	}
	return min(out, math.Float64bits(math.Inf(1)))
}
