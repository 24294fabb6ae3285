//go:build !noasm

package cpu

import "unsafe"

const cumulateStream = 2 * kindCount

// simdCumulate sums the first rows. bad is not 0 if a sum did not fit.
func simdCumulate[T Integer](out, in []T, valid Bitmap, sum T, stream bool) (rows int, last T, bad uint64) {
	size := unsafe.Sizeof(sum)
	if rows = simdRows(len(in)); rows == 0 || size < 4 {
		return 0, sum, 0
	}
	kernel, slice, mask := kindOf[T](), maxRows, unsafe.Pointer(nil)
	if !valid.All() {
		kernel, slice = kernel+kindCount, validRowsMax
	}
	if stream && uintptr(pointer(out))%64 == 0 {
		kernel += cumulateStream
	}
	var words shifted
	for i := 0; i < rows; i += slice {
		n := min(slice, rows-i)
		if !valid.All() {
			mask = words.at(valid, i, n)
		}
		var b uint64
		sum = T(callCumulate(kernel, pointer(out[i:i+n]), pointer(in[i:i+n]), mask, n, uint64(sum), &b))
		bad |= b
	}
	return rows, sum, bad
}
