//go:build !noasm

package cpu

import (
	"math"
	"unsafe"
)

// exactRows is the number of rows that are split together.
const (
	exactLog  = 11
	exactRows = 1 << exactLog
)

// exactSplit is what the assembly leaves: two parts of a sum, and the range of
// the values as bits of magnitudes, the smallest one less one.
type exactSplit struct {
	high, low         float64
	largest, smallest uint64
}

// A block is split at a power of two, after S. M. Rump, T. Ogita and S. Oishi,
// "Accurate floating-point summation" (2008). With start = 1.5 * 2^m, sums of
// the values begin at start; each addition rounds to a multiple of
// u = 2^(m-52), and what it rounds away, at most u/2, is added up apart.
//
// Values below 2^(m-10) keep every sum within 2^(m-1) of start, in one binade,
// where the errors of additions are representable, and the sum of all lanes
// within 2^53 u. The at most 2^11 errors add up to 2^(m-42) at most, which is
// exact when all values are multiples of 2^(m-95). So both parts are exact in
// whatever order they are added.
const (
	splitAbove = exactLog        // a value's exponent is at least so far below m,
	splitBelow = 43              // and at most so far for float64
	splitFloat = splitBelow + 29 // and for float32, whose last place is 29 higher
	splitSlack = 2               // room for growing values
	splitTop   = maxExponent - 2 // largest exponent field of start
	splitRest  = 16              // blocks that are not tried after one that did not fit
	sampleRows = 16
)

// simdAddFloats adds the first rows, all but fewer than 64.
func simdAddFloats[T Float](e *Exact, values []T, valid Bitmap) (rows int) {
	rows = simdRows(len(values))
	if rows == 0 {
		return 0
	}
	var words shifted
	s := splitter[T]{e: e, words: &words, m: sampleExponent(values[:rows]) + splitAbove + splitSlack}
	for i := 0; i < rows; i += exactRows {
		n := min(exactRows, rows-i)
		s.add(values[i:i+n], valid, i)
	}
	return rows
}

// splitter adds blocks with the exponent that served the last.
type splitter[T Float] struct {
	e     *Exact
	words *shifted
	m     int // exponent field of start
	rest  int
}

// add adds a block whose validity begins at row i of valid.
func (s *splitter[T]) add(block []T, valid Bitmap, i int) {
	if s.rest > 0 {
		s.rest--
		addWindows(s.e, block, valid.Slice(i))
		return
	}
	kernel, mask := kindOf[T](), unsafe.Pointer(nil)
	if !valid.All() {
		kernel, mask = kernel+kindCount, s.words.at(valid, i, len(block))
	}
	var out exactSplit
	for range 2 {
		s.m = min(max(s.m, 1), splitTop)
		start := uint64(s.m)<<52 | 1<<51
		callExact(kernel, pointer(block), mask, len(block), start, &out)
		if s.fits(&out) {
			addEach(s.e, []float64{out.high, out.low})
			return
		}
		s.m = int(out.largest>>52) + splitAbove
	}
	s.rest = splitRest
	addWindows(s.e, block, valid.Slice(i))
}

// fits reports whether the parts are exact. A NaN shows in them alone.
func (s *splitter[T]) fits(out *exactSplit) bool {
	below := splitBelow
	if unsafe.Sizeof(T(0)) == 4 {
		below = splitFloat
	}
	largest := int(out.largest >> 52)
	smallest := max(int((out.smallest+1)>>52), 1) // subnormals share exponent 1's unit
	return out.high-out.high == 0 && largest+splitAbove <= s.m && smallest+below >= s.m
}

// sampleExponent guesses the largest exponent field.
func sampleExponent[T Float](values []T) int {
	top := uint64(0)
	for i := 0; i < len(values) && i < exactRows; i += exactRows / sampleRows {
		if b := math.Float64bits(float64(values[i])) &^ (1 << 63); b < maxExponent<<52 {
			top = max(top, b)
		}
	}
	return int(top >> 52)
}
