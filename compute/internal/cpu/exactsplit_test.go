package cpu

import (
	"fmt"
	"math"
	"testing"
)

func TestSplit(t *testing.T) {
	run[float32](t, splitCase[float32])
	run[float64](t, splitCase[float64])
}

func splitCase[T Float](t *testing.T) {
	r := newRand(5)
	// Ranges of exponents around what one split can hold, at both ends of the
	// type and in the middle, with growing and with shrinking values.
	for _, top := range []int{-1070, -1000, -140, -100, 0, 90, 120, 1000, 1023} {
		for _, width := range []int{0, 1, 5, 20, 28, 29, 30, 31, 32, 33, 34, 45, 60, 61, 62, 63, 64, 100, 300} {
			a := make([]T, 64*r.IntN(3*exactRows/64)+exactRows)
			for i := range a {
				drift := 0
				switch r.IntN(3) {
				case 0:
					drift = width * i / len(a)
				case 1:
					drift = r.IntN(width + 1)
				}
				v := math.Ldexp(1+r.Float64(), max(top-drift, -1074))
				if r.IntN(2) == 0 {
					v = -v
				}
				a[i] = T(v)
			}
			checkExact(t, fmt.Sprintf("top %d width %d", top, width), a, Bitmap{})
			checkExact(t, fmt.Sprintf("top %d width %d, nulls", top, width), a, randomBitmap(r, len(a), 5, 0.2))
			a[r.IntN(len(a))] = T(math.NaN())
			checkExact(t, "with NaN", a, Bitmap{})
			a[r.IntN(len(a))] = T(math.Inf(-1))
			checkExact(t, "with infinity", a, Bitmap{})
		}
	}
	// One value far off, in any place.
	a := make([]T, exactRows)
	for i := range a {
		a[i] = T(i%7 + 1)
	}
	valid := randomBitmap(r, len(a), 0, 0)
	for i := 1; i < 130; i++ {
		for _, far := range []int{70, -70} {
			old := a[i]
			a[i] = T(math.Ldexp(1, far))
			checkExact(t, fmt.Sprintf("2^%d at %d", far, i), a, Bitmap{})
			checkExact(t, fmt.Sprintf("2^%d at %d, nulls", far, i), a, valid)
			a[i] = old
		}
	}
	// One sign and full mantissas: the largest sums that a split can meet.
	for _, v := range []float64{1, math.Nextafter(2, 1), -math.Nextafter(2, 1), math.MaxFloat32, math.MaxFloat64, 0x1p-1074} {
		a := make([]T, 3*exactRows)
		for i := range a {
			a[i] = T(v)
		}
		a[7] = T(math.Ldexp(v, -31))
		checkExact(t, fmt.Sprint("all ", v), a, Bitmap{})
	}
}

// checkExact compares sums by splitting with those through windows.
func checkExact[T Float](t *testing.T, name string, a []T, valid Bitmap) {
	t.Helper()
	var got, want Exact
	addFloats(&got, a, valid)
	addWindows(&want, a, valid)
	got.carry()
	want.carry()
	if got.chunk != want.chunk || got.special != want.special {
		t.Fatalf("%s: sum %v, want %v", name, got.Round(), want.Round())
	}
}
