//go:build !noasm

package cpu

import "unsafe"

// The comparisons that there is assembly for.
const (
	compareEqual = iota
	compareLess
	compareLessEqual
)

// simdCompare compares whole words of rows; a step of zero makes the 64 values
// of b serve all of a.
func simdCompare[T Number](c Comparison, dst []uint64, a, b []T, scalar bool) (rows int) {
	rows = simdRows(len(a))
	if rows == 0 {
		return 0
	}
	step := 64 * int(unsafe.Sizeof(T(0)))
	stepB := step
	if scalar {
		stepB = 0
	}
	for i := 0; i < rows; i += maxRows {
		n, y := min(maxRows, rows-i), b
		if !scalar {
			y = b[i:]
		}
		op, swap, flip := kernelOf[T](c)
		words, p, q, stepP, stepQ := dst[i>>6:][:n>>6], pointer(a[i:i+n]), pointer(y), step, stepB
		if swap {
			p, q, stepP, stepQ = q, p, stepQ, stepP
		}
		callCompare(op*kindCount+kindOf[T](), pointer(words), p, q, n, stepP, stepQ, flip)
	}
	return rows
}

// kernelOf expresses a comparison by one that there is assembly for, of
// exchanged operands when swap is set, and the mask that negates its result.
func kernelOf[T Number](c Comparison) (op int, swap bool, flip uint64) {
	switch c {
	case IsEqual:
		return compareEqual, false, 0
	case IsNotEqual:
		return compareEqual, false, ^uint64(0)
	case IsLess:
		return compareLess, false, 0
	case IsGreater:
		return compareLess, true, 0
	}
	swap = c == IsGreaterEqual
	if isFloat[T]() {
		return compareLessEqual, swap, 0
	}
	return compareLess, !swap, ^uint64(0)
}
