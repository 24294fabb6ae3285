package cpu

import (
	"math"
	"unsafe"
)

// exactRows is the number of rows that are split together.
const exactRows = 1 << splitAbove

// exactSplit holds two parts of a sum, and the range of its values as bits of
// magnitudes: the largest, and the smallest that is not zero, less one.
type exactSplit struct {
	high, low         float64
	largest, smallest uint64
}

// splitter adds blocks of at most exactRows values to e by splitting them at a
// power of two, after S. M. Rump, T. Ogita and S. Oishi, "Accurate
// floating-point summation" (2008). With start = 1.5 * 2^m, sums of the values
// begin at start; each addition rounds to a multiple of u = 2^(m-52), and what
// it rounds away, at most u/2, is added up apart.
//
// Values below 2^(m-10) keep every sum within 2^(m-1) of start, in one binade,
// where the errors of additions are representable, and the sum of all lanes
// within 2^53 u. The at most 2^11 errors add up to 2^(m-42) at most, which is
// exact when all values are multiples of 2^(m-95). So both parts are exact in
// whatever order they are added, and blocks that do not fit go another way.
type splitter[T Float] struct {
	e    *Exact
	m    int // exponent field of start, which served the last block
	rest int // blocks to leave alone
}

const (
	splitAbove = 11              // a value's exponent is at least so far below m,
	splitBelow = 43              // and at most so far for float64
	splitFloat = splitBelow + 29 // and for float32, whose last place is 29 higher
	splitSlack = 2               // room for growing values
	splitTop   = maxExponent - 2 // largest exponent field of start
	splitRest  = 16              // blocks that are not tried after one that did not fit
	sampleRows = 16
)

func newSplitter[T Float](e *Exact, values []T) splitter[T] {
	return splitter[T]{e: e, m: sampleExponent(values) + splitAbove + splitSlack}
}

// sampleExponent guesses the largest exponent field of the first block.
func sampleExponent[T Float](values []T) int {
	top := uint64(0)
	for i := 0; i < len(values) && i < exactRows; i += exactRows / sampleRows {
		if b := math.Float64bits(float64(values[i])) &^ (1 << 63); b < maxExponent<<52 {
			top = max(top, b)
		}
	}
	return int(top >> 52)
}

// add adds the rows of a block, those whose bit in mask is set unless that is
// nil. vectors is for blocks of whole words on machines that have instructions.
func (s *splitter[T]) add(block []T, mask unsafe.Pointer, vectors bool) bool {
	if s.rest > 0 {
		s.rest--
		return false
	}
	var out exactSplit
	for range 2 {
		s.m = min(max(s.m, 1), splitTop)
		start := math.Float64frombits(uint64(s.m)<<52 | 1<<51)
		if vectors {
			simdSplit(block, mask, start, &out)
		} else {
			splitValues(block, start, &out)
		}
		if s.fits(&out) {
			addEach(s.e, []float64{out.high, out.low})
			return true
		}
		s.m = int(out.largest>>52) + splitAbove
	}
	s.rest = splitRest
	return false
}

// fits reports whether the parts are exact. A NaN may show in them alone.
func (s *splitter[T]) fits(out *exactSplit) bool {
	below := splitBelow
	if unsafe.Sizeof(T(0)) == 4 {
		below = splitFloat
	}
	largest := int(out.largest >> 52)
	smallest := max(int((out.smallest+1)>>52), 1) // subnormals share exponent 1's unit
	return out.high-out.high == 0 && largest+splitAbove <= s.m && smallest+below >= s.m
}

// splitValues is the split in Go, on four sums, of what assembly leaves.
func splitValues[T Float](values []T, start float64, out *exactSplit) {
	*out = exactSplit{smallest: maxExponent << 52}
	values = values[simdSplitDense(values, start, out):]
	h0, h1, h2, h3 := start, start, start, start
	var l0, l1, l2, l3 float64
	largest, smallest := out.largest, out.smallest
	for ; len(values) >= 4; values = values[4:] {
		v := (*[4]T)(values)
		x0, x1, x2, x3 := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
		t0, t1, t2, t3 := h0+x0, h1+x1, h2+x2, h3+x3
		l0 += x0 - (t0 - h0)
		l1 += x1 - (t1 - h1)
		l2 += x2 - (t2 - h2)
		l3 += x3 - (t3 - h3)
		h0, h1, h2, h3 = t0, t1, t2, t3
		b0, b1 := math.Float64bits(x0)&^(1<<63), math.Float64bits(x1)&^(1<<63)
		b2, b3 := math.Float64bits(x2)&^(1<<63), math.Float64bits(x3)&^(1<<63)
		largest = max(largest, b0, b1, b2, b3)
		smallest = min(smallest, b0-1, b1-1, b2-1, b3-1)
	}
	for _, v := range values {
		x := float64(v)
		t := h0 + x
		l0 += x - (t - h0)
		h0 = t
		b := math.Float64bits(x) &^ (1 << 63)
		largest, smallest = max(largest, b), min(smallest, b-1)
	}
	out.high += (h0 - start) + (h1 - start) + ((h2 - start) + (h3 - start))
	out.low += l0 + l1 + (l2 + l3)
	out.largest, out.smallest = largest, smallest
}
