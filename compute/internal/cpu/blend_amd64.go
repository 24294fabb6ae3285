//go:build !noasm

package cpu

import (
	"math/bits"
	"unsafe"
)

const blendStream = 4

// simdBlend does the first rows of Blend.
func simdBlend[T uint8 | uint16 | uint32 | uint64](out, a, b []T, choice []uint64) (rows int) {
	if rows = simdRows(len(out)); rows == 0 {
		return 0
	}
	size := unsafe.Sizeof(T(0))
	kernel := bits.TrailingZeros(uint(size))
	if cap(out)*int(size) >= streamBytes && uintptr(pointer(out))%64 == 0 {
		kernel += blendStream
	}
	for i := 0; i < rows; i += maxRows {
		n := min(maxRows, rows-i)
		callBlend(kernel, pointer(out[i:i+n]), pointer(a[i:i+n]), pointer(b[i:i+n]), pointer(choice[i>>6:(i+n)>>6]), n)
	}
	return rows
}
