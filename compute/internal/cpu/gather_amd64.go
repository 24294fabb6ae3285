//go:build !noasm

package cpu

import (
	"math/bits"
	"unsafe"
)

// randomRowsMax bounds a call: every row may come from main memory.
const randomRowsMax = 1 << 12

// simdGather copies row index[i] of src to row i of dst until an index is out
// of range, or fewer than 64 rows are left, and says how many rows it did.
func simdGather[T any](dst, src []T, index []uint64) (rows int) {
	size := unsafe.Sizeof(*new(T))
	n := simdRows(len(index))
	if n == 0 || size&(size-1) != 0 || size > 32 {
		return 0
	}
	kernel := bits.TrailingZeros(uint(size))
	for rows < n {
		step := min(n-rows, randomRowsMax)
		done := int(callGather(kernel, pointer(dst[rows:rows+step]), pointer(src), pointer(index[rows:rows+step]), step, len(src)))
		if rows += done; done < step {
			break
		}
	}
	return rows
}
