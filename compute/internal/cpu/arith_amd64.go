//go:build !noasm

package cpu

import "unsafe"

// streamBytes is the size of output from which stores go past the caches, as
// it would not stay in the second-level one anyway.
const streamBytes = 4 << 20

const arithStream = arithCount * kindCount

// simdArith computes the first rows and reports whether all went well.
func simdArith[T Number](op int, out, a, b []T) (rows int, ok bool) {
	rows = simdRows(len(out))
	if rows == 0 || !hasArith[T](op) {
		return 0, true
	}
	kernel, size := op*kindCount+kindOf[T](), unsafe.Sizeof(T(0))
	if size >= 4 && cap(out)*int(size) >= streamBytes && uintptr(pointer(out))%64 == 0 {
		kernel += arithStream
	}
	var bad uint64
	for i := 0; i < rows; i += maxRows {
		n := min(maxRows, rows-i)
		bad |= callArith(kernel, pointer(out[i:i+n]), pointer(a[i:i+n]), pointer(b[i:i+n]), n)
	}
	return rows, bad == 0
}

// hasArith reports whether there is assembly for an operation on T.
func hasArith[T Number](op int) bool {
	switch op {
	case arithAdd, arithSub:
		return true
	case arithMul:
		return unsafe.Sizeof(T(0)) > 1
	case arithDiv, arithDivChecked:
		return isFloat[T]()
	case arithMulChecked:
		return unsafe.Sizeof(T(0)) > 1 && !isFloat[T]()
	}
	return !isFloat[T]()
}
