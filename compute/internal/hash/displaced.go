package hash

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// Displaced is a table without collisions: a value has one slot, its own hash moved by what its bucket says. A look-up
// is two loads and a comparison, whatever the number of values, and no branch.
//
// Source: R. Pagh, Hash and Displace (1999); F. C. Botelho and others, Compress, Hash, and Displace (2009).
type Displaced[T Key] struct {
	cpu.Table[T]         // an empty slot holds a value that has another one
	at           []int32 // the value's number, per slot
	odd          map[T]int32
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
	var d Displaced[T]
	d.Buckets, d.Places = uint(max(size-1, 1)), uint(size+2)
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
	// The values by bucket, then the buckets by size, by counting.
	first := make([]int32, 1<<d.Buckets+1)
	for _, v := range values {
		first[d.bucket(mix(v, d.Factor))+1]++
	}
	largest := slices.Max(first)
	bySize := make([]int32, largest+2) // from the largest on
	for b := range len(first) - 1 {
		bySize[largest-first[b+1]+1]++
		first[b+1] += first[b]
	}
	order, members := make([]int32, len(first)-1), make([]int32, len(values))
	for i := range largest {
		bySize[i+1] += bySize[i]
	}
	for b := range order {
		at := &bySize[largest-(first[b+1]-first[b])]
		order[*at] = int32(b)
		*at++
	}
	filled := slices.Clone(first)
	for i, v := range values {
		at := &filled[d.bucket(mix(v, d.Factor))]
		members[*at] = int32(i)
		*at++
	}
	d.Slots, d.Moves, d.at = make([]T, 1<<d.Places), make([]uint32, 1<<d.Buckets), make([]int32, 1<<d.Places)
	for i := range d.at {
		d.at[i] = -1
	}
	seed := d.Factor
	places := make([]uint64, largest)
	for _, b := range order {
		group := members[first[b]:first[b+1]]
		if len(group) == 0 {
			break // the rest are as small
		}
		places = places[:len(group)]
		for k, i := range group {
			places[k] = d.place(mix(values[i], d.Factor))
		}
		if len(group) > 1 && repeats(places) {
			return false
		}
		move, free := uint64(0), false
		for try := 0; !free; try++ {
			if try == 1<<12 {
				return false
			}
			free = true
			for _, p := range places {
				free = free && d.at[p^move] < 0
			}
			if !free {
				move = next(&seed) & (1<<d.Places - 1)
			}
		}
		d.Moves[b] = uint32(move)
		for k, i := range group {
			d.at[places[k]^move], d.Slots[places[k]^move] = i, values[i]
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

// repeats says whether two places are one.
func repeats(places []uint64) bool {
	if len(places) <= 8 {
		for k, p := range places {
			if slices.Contains(places[:k], p) {
				return true
			}
		}
		return false
	}
	sorted := slices.Sorted(slices.Values(places))
	return len(slices.Compact(sorted)) < len(places)
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
	for i := d.Members(dst, values); i < len(values); i += 64 {
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
