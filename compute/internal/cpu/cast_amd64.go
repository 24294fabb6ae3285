//go:build !noasm

package cpu

import "unsafe"

const (
	castChecked = kindCount * kindCount
	castStream  = 2 * castChecked
)

// simdCast converts the first rows and reports whether the result is sure to
// be right; if not it must be done again.
func simdCast[O, I Number](checked bool, out []O, a []I) (rows int, ok bool) {
	rows = simdRows(len(out))
	if rows == 0 || unsafe.Sizeof(O(0)) < 4 || unsafe.Sizeof(I(0)) < 4 || kindOf[O]() == kindOf[I]() {
		return 0, true
	}
	kernel := kindOf[I]()*kindCount + kindOf[O]()
	if checked {
		kernel += castChecked
	}
	if cap(out)*int(unsafe.Sizeof(O(0))) >= streamBytes && uintptr(pointer(out))%64 == 0 {
		kernel += castStream
	}
	var bad uint64
	for i := 0; i < rows; i += maxRows {
		n := min(maxRows, rows-i)
		bad |= callCast(kernel, pointer(out[i:i+n]), pointer(a[i:i+n]), n)
	}
	return rows, bad == 0
}
