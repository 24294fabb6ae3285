//go:build !noasm

package cpu

import (
	"math"
	"unsafe"
)

func simdSum[T Integer](values []T, valid Bitmap) (sum uint64, rows int) {
	rows = simdRows(len(values))
	kernel := kindOf[T]()
	if valid.All() {
		for i := 0; i < rows; i += maxRows {
			n := min(maxRows, rows-i)
			sum += callSum(kernel, pointer(values[i:i+n]), nil, n)
		}
		return sum, rows
	}
	if rows > 0 {
		sum = simdSumValid(values[:rows], valid)
	}
	return sum, rows
}

func simdSumValid[T Integer](values []T, valid Bitmap) (sum uint64) {
	var words shifted
	for i := 0; i < len(values); i += validRowsMax {
		n := min(validRowsMax, len(values)-i)
		sum += callSum(kindCount+kindOf[T](), pointer(values[i:i+n]), words.at(valid, i, n), n)
	}
	return sum
}

// simdSumWide takes 64-bit integers.
func simdSumWide[T Integer](values []T, valid Bitmap) (sum Int128, rows int) {
	rows = simdRows(len(values))
	if rows == 0 {
		return sum, 0
	}
	var words shifted
	kernel, slice, mask := kindOf[T](), maxRows, unsafe.Pointer(nil)
	if !valid.All() {
		kernel, slice = kernel+kindCount, validRowsMax
	}
	for i := 0; i < rows; i += slice {
		n := min(slice, rows-i)
		if !valid.All() {
			mask = words.at(valid, i, n)
		}
		var upper uint64
		wrapped := callSumWide(kernel, pointer(values[i:i+n]), mask, n, &upper)
		sum = sum.Add(joinHalves[T](wrapped, upper))
	}
	return sum, rows
}

// lanes are partial extremes, a value for every lane of a vector or two. The
// signs of numbers and of their complements tell the zeros apart where the
// instructions do not.
type lanes struct {
	_                  [0]uint64
	min, max           [64]byte
	negative, positive [32]byte
}

// laneValues views lanes as values.
func laneValues[T Number](b []byte) []T { return as[T](b) }

func simdMinMax[T Number](values []T, valid Bitmap) (e Extremes[T], rows int) {
	rows = simdRows(len(values))
	if rows == 0 {
		return e, 0
	}
	var (
		l            lanes
		words        shifted
		lowest, high = bounds[T]()
		mins, maxs   = laneValues[T](l.min[:]), laneValues[T](l.max[:])
	)
	for i := range mins {
		mins[i], maxs[i] = high, lowest
	}
	kernel, slice, mask := kindOf[T](), maxRows, unsafe.Pointer(nil)
	if !valid.All() {
		kernel, slice = kernel+kindCount, validRowsMax
	}
	for i := 0; i < rows; i += slice {
		n := min(slice, rows-i)
		if !valid.All() {
			mask = words.at(valid, i, n)
		}
		e.N += int(callExtremes(kernel, pointer(values[i:i+n]), mask, n, &l))
	}
	if !isFloat[T]() {
		e.N = valid.Count(rows)
	}
	e.Min, e.Max = mins[0], maxs[0]
	for i := range mins {
		e.Min, e.Max = min(e.Min, mins[i]), max(e.Max, maxs[i])
	}
	if level == levelAVX2 && isFloat[T]() {
		e.signZeros(laneValues[T](l.negative[:]), laneValues[T](l.positive[:]))
	}
	return e, rows
}

// signZeros gives an extreme of zero its sign: when the smallest number is
// zero, one with a sign is -0.
func (e *Extremes[T]) signZeros(negative, positive []T) {
	zero := T(0)
	var minus, plus bool
	for i := range negative {
		minus = minus || math.Signbit(float64(negative[i]))
		plus = plus || math.Signbit(float64(positive[i]))
	}
	if e.Min == 0 {
		e.Min = zero
		if minus {
			e.Min = -zero
		}
	}
	if e.Max == 0 {
		e.Max = zero
		if !plus {
			e.Max = -zero
		}
	}
}

// bounds returns values that every other one replaces as an extreme.
func bounds[T Number]() (lowest, highest T) {
	if isFloat[T]() {
		infinity := math.Inf(1)
		return T(-infinity), T(infinity)
	}
	minusOne := T(0)
	minusOne--
	if minusOne > 0 {
		return 0, minusOne
	}
	highest = T(uint64(1)<<(unsafe.Sizeof(highest)*8-1) - 1)
	return -highest - 1, highest
}
