//go:build !noasm

package cpu

import (
	"math"
	"unsafe"
)

// simdAddFloats adds the first rows, all but fewer than 64.
func simdAddFloats[T Float](e *Exact, values []T, valid Bitmap) (rows int) {
	rows = simdRows(len(values))
	if rows == 0 {
		return 0
	}
	var words shifted
	s, mask := newSplitter(e, values[:rows]), unsafe.Pointer(nil)
	for i := 0; i < rows; i += exactRows {
		block := values[i:min(i+exactRows, rows)]
		if !valid.All() {
			mask = words.at(valid, i, len(block))
		}
		if !s.add(block, mask, true) {
			addWindows(e, block, valid.Slice(i))
		}
	}
	return rows
}

// simdSplit splits whole words of values.
func simdSplit[T Float](block []T, mask unsafe.Pointer, start float64, out *exactSplit) {
	kernel := kindOf[T]()
	if mask != nil {
		kernel += kindCount
	}
	callExact(kernel, pointer(block), mask, len(block), math.Float64bits(start), out)
}

// simdSplitDense has nothing to do: simdAddFloats leaves no whole words.
func simdSplitDense[T Float]([]T, float64, *exactSplit) (rows int) { return 0 }
