//go:build !noasm

package cpu

import (
	"math/bits"
	"unsafe"
)

// memberRowsMax bounds a call: every row may come from main memory, twice.
const memberRowsMax = 1 << 11

func simdMember[T uint8 | uint16 | uint32 | uint64](t *Table[T], dst []uint64, values []T) int {
	rows := simdRows(len(values))
	kernel := bits.TrailingZeros(uint(unsafe.Sizeof(T(0))))
	extent := uint64(64-t.Buckets-t.Places) | uint64(t.Places)<<8 // the first bit and their number
	for i := 0; i < rows; i += memberRowsMax {
		n := min(memberRowsMax, rows-i)
		callMember(kernel, pointer(dst[i>>6:(i+n)>>6]), pointer(values[i:i+n]), n, pointer(t.Slots), pointer(t.Moves),
			t.Factor, uint64(64-t.Buckets), extent)
	}
	return rows
}
