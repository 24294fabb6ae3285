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

// simdCompact does compactWords if it can.
func simdCompact(dst, src []uint64, keep []byte, held int) bool {
	if level == levelNone || len(src) == 0 {
		return false
	}
	callCompact(0, pointer(dst), pointer(src), pointer(keep[:8*len(src)]), 64*len(src), held)
	return true
}

// simdStreams reports whether output of so many bytes is to go past the caches.
func simdStreams(bytes int) bool { return level != levelNone && bytes >= streamBytes }

// simdStream copies, past the caches if it can; lengths and the place of dst
// are multiples of 64.
func simdStream(dst, src []byte) {
	if level == levelNone {
		copy(dst, src)
		return
	}
	for i := 0; i < len(src); i += maxRows {
		n := min(maxRows, len(src)-i)
		callStream(0, pointer(dst[i:i+n]), pointer(src[i:i+n]), n)
	}
}
