package cpu

import "unsafe"

// Table is a table in which a value has one slot. Its hash is the value, its
// upper half folded into the lower one, times Factor. The hash's upper Buckets
// bits choose one of Moves, and the Places bits below them, changed with it,
// are the number of the slot.
type Table[T uint8 | uint16 | uint32 | uint64] struct {
	Slots           []T      // 1<<Places
	Moves           []uint32 // 1<<Buckets
	Factor          uint64
	Buckets, Places uint
}

// Members sets a bit of dst for values that are in their slots, for whole
// words of 64 as long as assembly can, and says how many values it did.
func (t *Table[T]) Members(dst []uint64, values []T) (done int) {
	if unsafe.Sizeof(T(0)) < 4 || len(t.Slots) != 1<<t.Places || len(t.Moves) != 1<<t.Buckets || t.Buckets == 0 {
		return 0
	}
	return simdMember(t, dst, values)
}
