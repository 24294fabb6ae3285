//go:build !noasm

package cpu

import (
	"math"
	"unsafe"
)

// simdSplitDense splits whole words of values, at most exactRows.
func simdSplitDense[T Float](values []T, start float64, out *exactSplit) (rows int) {
	if rows = len(values) &^ 63; rows > 0 {
		callSplit(int(unsafe.Sizeof(T(0))), pointer(values), rows, math.Float64bits(start), out)
	}
	return rows
}
