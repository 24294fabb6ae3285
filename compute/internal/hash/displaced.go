package hash

import (
	"math/bits"
	"slices"
	"unsafe"
)

// Displaced is a table without collisions: a value has one slot, its own hash moved by what its bucket says. A look-up
// is two loads and a comparison, whatever the number of values, and no branch.
//
// Source: R. Pagh, Hash and Displace (1999); F. C. Botelho and others, Compress, Hash, and Displace (2009).
type Displaced[T Key] struct {
	Slots  []T      // a power of two; an empty slot holds a value that has another one
	Moves  []uint32 // per bucket, a power of two
	Factor uint64
	// Buckets and Places are the numbers of bits that choose the bucket, from the hash's top, and the place, below them.
	Buckets, Places uint
	at              []int32 // the value's number, per slot
	odd             map[T]int32
}

// displacedTries is how many factors are tried for one number of slots. One does in most cases.
const displacedTries = 32

// NewDisplaced makes a table of distinct values.
func NewDisplaced[T Key](values []T) Displaced[T] {
	return newDisplaced(values, 4)
}

// newDisplaced tries sizes up to a number of times the first one.
func newDisplaced[T Key](values []T, sizes int) Displaced[T] {
	size := bits.Len(uint(max(len(values), 1) - 1))
	d := Displaced[T]{Buckets: uint(max(size-1, 1)), Places: uint(size + 2)}
	if len(values) == 0 {
		return d
	}
	seed := uint64(0x9e3779b97f4a7c15)
	for range sizes {
		for range displacedTries {
			if d.Factor = next(&seed) | 1; d.build(values) {
				return d
			}
		}
		d.Places++
	}
	// values made to collide
	d = Displaced[T]{odd: make(map[T]int32, len(values))}
	for i, v := range values {
		d.odd[v] = int32(i)
	}
	return d
}

// next is the next number of a sequence without a pattern.
//
// Source: G. Steele and others, Fast Splittable Pseudorandom Number Generators (2014).
func next(seed *uint64) uint64 {
	*seed += 0x9e3779b97f4a7c15
	x := *seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// mix spreads a value over 64 bits; the upper ones are good.
func mix[T Key](v T, factor uint64) uint64 {
	x := uint64(v)
	return (x ^ x>>32) * factor
}

func (d *Displaced[T]) bucket(h uint64) uint64 { return h >> (64 - d.Buckets) }

func (d *Displaced[T]) place(h uint64) uint64 {
	return h >> (64 - d.Buckets - d.Places) & (1<<d.Places - 1)
}

// build places all values, the largest buckets first. It fails where two values of a bucket have one place.
func (d *Displaced[T]) build(values []T) bool {
	type member struct {
		bucket, place uint64
		i             int32
	}
	members := make([]member, len(values))
	for i, v := range values {
		h := mix(v, d.Factor)
		members[i] = member{d.bucket(h), d.place(h), int32(i)}
	}
	slices.SortFunc(members, func(a, b member) int {
		if a.bucket != b.bucket {
			return int(int64(a.bucket) - int64(b.bucket))
		}
		return int(int64(a.place) - int64(b.place))
	})
	var groups [][]member
	for i := 0; i < len(members); {
		k := i + 1
		for ; k < len(members) && members[k].bucket == members[i].bucket; k++ {
			if members[k].place == members[k-1].place {
				return false
			}
		}
		groups = append(groups, members[i:k])
		i = k
	}
	slices.SortStableFunc(groups, func(a, b []member) int { return len(b) - len(a) })
	d.Slots, d.Moves, d.at = make([]T, 1<<d.Places), make([]uint32, 1<<d.Buckets), make([]int32, 1<<d.Places)
	for i := range d.at {
		d.at[i] = -1
	}
	seed := d.Factor
	for _, g := range groups {
		move, free := uint64(0), false
		for try := 0; !free; try++ {
			if try == 1<<12 {
				return false
			}
			free = true
			for _, m := range g {
				free = free && d.at[m.place^move] < 0
			}
			if !free {
				move = next(&seed) & (1<<d.Places - 1)
			}
		}
		d.Moves[g[0].bucket] = uint32(move)
		for _, m := range g {
			d.at[m.place^move], d.Slots[m.place^move] = m.i, values[m.i]
		}
	}
	for i, at := range d.at {
		if at < 0 {
			// whoever asks here does not ask for this value, whose slot is another
			d.Slots[i] = values[0]
		}
	}
	return true
}

// slot is the only slot where a value can be.
func (d *Displaced[T]) slot(v T) uint64 {
	h := mix(v, d.Factor)
	return d.place(h) ^ uint64(d.Moves[d.bucket(h)])
}

// Index is the number of a value, -1 where it is not in the table.
func (d *Displaced[T]) Index(v T) int32 {
	switch {
	case d.odd != nil:
		if i, ok := d.odd[v]; ok {
			return i
		}
		return -1
	case len(d.Slots) == 0:
		return -1
	}
	if s := d.slot(v); d.Slots[s] == v {
		return d.at[s]
	}
	return -1
}

// Perfect says that Slots, Moves and the rest describe the table.
func (d *Displaced[T]) Perfect() bool { return d.odd == nil && len(d.Slots) > 0 }

// words is Set.Words.
func (d *Displaced[T]) words(dst []uint64, values []T) {
	if !d.Perfect() {
		for i := 0; i < len(values); i += 64 {
			var w uint64
			for j, v := range values[i:min(i+64, len(values))] {
				if d.Index(v) >= 0 {
					w |= 1 << j
				}
			}
			dst[i>>6] = w
		}
		return
	}
	slots, moves := unsafe.Pointer(unsafe.SliceData(d.Slots)), unsafe.Pointer(unsafe.SliceData(d.Moves))
	factor, top, below, mask := d.Factor, 64-d.Buckets, 64-d.Buckets-d.Places, uint64(1)<<d.Places-1
	size := unsafe.Sizeof(T(0))
	for i := 0; i < len(values); i += 64 {
		var w uint64
		for j, v := range values[i:min(i+64, len(values))] {
			h := mix(v, factor)
			s := h>>(below&63)&mask ^ uint64(*(*uint32)(unsafe.Add(moves, h>>(top&63)<<2)))
			var equal uint64
			if *(*T)(unsafe.Add(slots, uintptr(s)*size)) == v {
				equal = 1
			}
			w |= equal << (j & 63)
		}
		dst[i>>6] = w
	}
}
