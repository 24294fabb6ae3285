//go:build linux && amd64 && !noasm

package cpu

import (
	"slices"
	"testing"
	"unsafe"
)

func TestSIMDCumulate(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		TestCumulateInts(t)
		run[int32](t, simdCumulateCase[int32])
		run[int64](t, simdCumulateCase[int64])
		run[uint32](t, simdCumulateCase[uint32])
		run[uint64](t, simdCumulateCase[uint64])
	})
}

// simdCumulateCase compares with Go, for output through the caches and past them.
func simdCumulateCase[T Integer](t *testing.T) {
	large := make([]T, maxRows+256+64)
	aligned := large[(-uintptr(pointer(large))&63)/unsafe.Sizeof(large[0]):]
	simdInputs(t, func(name string, a, _ []T, valid Bitmap) {
		want, start := make([]T, len(a)), T(len(a))
		var sum T
		var status Status
		withLevel(levelNone, func() { sum, status = cumulateBlocks(want, a, valid, start, false) })
		for _, stream := range []bool{false, true} {
			got := aligned[:len(a)]
			clear(got)
			if s, st := cumulateBlocks(got, a, valid, start, stream); s != sum || st != status || !slices.Equal(got, want) {
				t.Fatalf("%s, stream=%v: sum %v, status %v, want %v, %v", name, stream, s, st, sum, status)
			}
		}
	})
}
