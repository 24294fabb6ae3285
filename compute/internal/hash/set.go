// Package hash finds values in tables made of them. Values are bit patterns of one width, or byte strings.
package hash

import (
	"slices"
	"unsafe"
)

// Key is the bit pattern of a value of fixed width.
type Key interface {
	uint8 | uint16 | uint32 | uint64
}

// Set is a set of values that is asked for many at a time. It answers without a branch, so the mix of rows that are and
// are not in it does not matter.
type Set[T Key] struct {
	n      int
	bitmap []uint64 // of [low, low+span), and a zero after that; nil: the set is in slots
	low    T
	span   uint64
	Displaced[T]
}

// NewSet makes a set of values, which may repeat.
func NewSet[T Key](values []T) *Set[T] {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	s := &Set[T]{n: len(sorted)}
	if s.low, s.span = interval(sorted); len(sorted) == 0 || s.span <= max(1<<16, 32*uint64(len(sorted))) {
		s.bitmap = make([]uint64, s.span>>6+1)
		for _, v := range sorted {
			d := uint64(v - s.low)
			s.bitmap[d>>6] |= 1 << (d & 63)
		}
		return s
	}
	s.Displaced = NewDisplaced(sorted)
	return s
}

// interval is the shortest interval, on the circle of all patterns, that holds sorted values: so small signed values of
// both signs are close together. span is its length, at most 2^64-1.
func interval[T Key](sorted []T) (low T, span uint64) {
	if len(sorted) == 0 {
		return 0, 0
	}
	last := sorted[len(sorted)-1]
	low = sorted[0]
	gap := low - last // over the end; of one value it is 0, the whole circle
	for i := 1; i < len(sorted); i++ {
		if d := sorted[i] - sorted[i-1]; d > gap {
			gap, low, last = d, sorted[i], sorted[i-1]
		}
	}
	if d := uint64(last - low); d+1 > d {
		return low, d + 1
	}
	return low, ^uint64(0)
}

// Len is the number of values.
func (s *Set[T]) Len() int { return s.n }

// Words writes one bit a value: whether it is in the set. Bits past the values are zero.
func (s *Set[T]) Words(dst []uint64, values []T) {
	if s.bitmap == nil {
		s.words(dst, values)
		return
	}
	words, low, span := unsafe.Pointer(unsafe.SliceData(s.bitmap)), s.low, s.span
	one := func(v T) uint64 {
		d := min(uint64(v-low), span)
		return *(*uint64)(unsafe.Add(words, d>>6<<3)) >> (d & 63) & 1
	}
	for i := 0; i < len(values); i += 64 {
		var w uint64
		for j, v := range values[i:min(i+64, len(values))] {
			w |= one(v) << (j & 63)
		}
		dst[i>>6] = w
	}
}
