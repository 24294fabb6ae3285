package hash

import "hash/maphash"

// Table gives every distinct value an id, in the order of first appearance from 0 on.
type Table[T Key] struct {
	Values []T // by id
	slots  []slot[T]
	shift  uint
	null   int32
}

// slot holds a value and its id plus 1; 0 means empty.
type slot[T Key] struct {
	value T
	id    int32
}

const (
	tableFactor = 0x9e3779b97f4a7c15
	tableBits   = 8 // of the first slots
	batch       = 64
)

// NewTable makes an empty table.
func NewTable[T Key]() *Table[T] {
	return &Table[T]{slots: make([]slot[T], 1<<tableBits), shift: 64 - tableBits, null: -1}
}

// Len is the number of ids.
func (t *Table[T]) Len() int { return len(t.Values) }

// Null is the id of null, which gets one when first asked for; the value of that id means nothing.
func (t *Table[T]) Null() int32 {
	if t.null < 0 {
		t.null = int32(len(t.Values))
		t.Values = append(t.Values, 0)
	}
	return t.null
}

// HasNull is the id of null, -1 where it has none.
func (t *Table[T]) HasNull() int32 { return t.null }

// ID is the id of a value.
func (t *Table[T]) ID(v T) int32 {
	t.reserve(1)
	return t.find(v, mix(v, tableFactor)>>t.shift)
}

// find probes from slot i on.
func (t *Table[T]) find(v T, i uint64) int32 {
	mask := uint64(len(t.slots) - 1)
	for ; ; i++ {
		s := &t.slots[i&mask]
		if s.id != 0 && s.value == v {
			return s.id - 1
		}
		if s.id == 0 {
			t.Values = append(t.Values, v)
			*s = slot[T]{v, int32(len(t.Values))}
			return s.id - 1
		}
	}
}

// IDs writes the ids of values. The slots of a batch are fetched together, since each is likely to be far away.
func (t *Table[T]) IDs(dst []int32, values []T) {
	var at [batch]uint64
	for len(values) > 0 {
		n := min(batch, len(values))
		t.reserve(n)
		mask := uint64(len(t.slots) - 1)
		var missed uint64
		for j, v := range values[:n] {
			i := mix(v, tableFactor) >> (t.shift & 63)
			s := &t.slots[i&mask]
			at[j] = i
			dst[j] = s.id - 1
			var miss uint64
			if s.value != v {
				miss = 1
			}
			missed |= (miss | uint64(uint32(s.id-1)>>31)) << j
		}
		for j := 0; missed != 0; j, missed = j+1, missed>>1 {
			if missed&1 != 0 {
				dst[j] = t.find(values[j], at[j])
			}
		}
		dst, values = dst[n:], values[n:]
	}
}

// reserve makes room for n more values: half of the slots stay empty.
func (t *Table[T]) reserve(n int) {
	if (len(t.Values)+n)*2 <= len(t.slots) {
		return
	}
	old := t.slots
	t.shift -= 2
	t.slots = make([]slot[T], 4*len(old))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := mix(s.value, tableFactor) >> t.shift
		for t.slots[i&mask].id != 0 {
			i++
		}
		t.slots[i&mask] = s
	}
}

// Strings is a Table of byte strings, which it refers to where they lie.
type Strings struct {
	Values [][]byte // by id
	slots  []stringSlot
	null   int32
}

type stringSlot struct {
	hash uint32
	id   int32 // plus 1
}

var seed = maphash.MakeSeed()

// NewStrings makes an empty table.
func NewStrings() *Strings { return &Strings{slots: make([]stringSlot, 1<<tableBits), null: -1} }

// Len is the number of ids.
func (t *Strings) Len() int { return len(t.Values) }

// Null is the id of null, which gets one when first asked for; the value of that id means nothing.
func (t *Strings) Null() int32 {
	if t.null < 0 {
		t.null = int32(len(t.Values))
		t.Values = append(t.Values, nil)
	}
	return t.null
}

// HasNull is the id of null, -1 where it has none.
func (t *Strings) HasNull() int32 { return t.null }

// ID is the id of a string.
func (t *Strings) ID(s []byte) int32 {
	id, slot, h := t.search(s)
	if id >= 0 {
		return id
	}
	t.Values = append(t.Values, s)
	*slot = stringSlot{h, int32(len(t.Values))}
	if 2*len(t.Values) > len(t.slots) {
		t.grow()
	}
	return int32(len(t.Values) - 1)
}

// Find is the id of a string, -1 where it has none.
func (t *Strings) Find(s []byte) int32 {
	id, _, _ := t.search(s)
	return id
}

// search gives the id of a string, else -1 and the slot that it would have.
func (t *Strings) search(s []byte) (int32, *stringSlot, uint32) {
	h := uint32(maphash.Bytes(seed, s) >> 32)
	mask := uint32(len(t.slots) - 1)
	for i := h; ; i++ {
		slot := &t.slots[i&mask]
		if slot.id == 0 {
			return -1, slot, h
		}
		if slot.hash == h && string(t.Values[slot.id-1]) == string(s) {
			return slot.id - 1, slot, h
		}
	}
}

func (t *Strings) grow() {
	old := t.slots
	t.slots = make([]stringSlot, 4*len(old))
	mask := uint32(len(t.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := s.hash
		for t.slots[i&mask].id != 0 {
			i++
		}
		t.slots[i&mask] = s
	}
}
