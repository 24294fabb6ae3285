//go:build !noasm

package cpu

import (
	"math/bits"
	"unsafe"
)

// simdCompress takes whole morsels.
const _ = uint(maxRows - selectMorsel)

// simdCompress copies the rows of src, at most maxRows, that keep selects to
// dst for as long as a whole word of rows fits there, whatever it selects.
func simdCompress[T any](dst, src []T, keep []byte) (rows, kept int) {
	size := unsafe.Sizeof(*new(T))
	n := simdRows(len(src))
	if n == 0 || len(dst) < 64 || size > 8 {
		return 0, 0
	}
	kernel := bits.TrailingZeros(uint(size))
	done := callCompress(kernel, pointer(dst), pointer(src), pointer(keep[:n>>3]), n, len(dst))
	return int(done >> 32), int(done & low32)
}

// simdExtract moves the selected bits of each word to its low end.
func simdExtract(words []uint64, keep []byte) (done int) {
	if level == levelNone || len(words) == 0 {
		return 0
	}
	callExtract(0, pointer(words), pointer(words), pointer(keep[:8*len(words)]), 64*len(words))
	return len(words)
}
