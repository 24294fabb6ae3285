//go:build linux && amd64 && !noasm

package cpu

import (
	"fmt"
	"testing"
)

func TestSIMDArith(t *testing.T) {
	simdCases(t, func(t *testing.T, k int) {
		[]func(*testing.T){
			simdIntegerCase[int8], simdIntegerCase[int16], simdIntegerCase[int32], simdIntegerCase[int64],
			simdIntegerCase[uint8], simdIntegerCase[uint16], simdIntegerCase[uint32], simdIntegerCase[uint64],
			func(t *testing.T) { simdArithCase(t, floatKernels[float32]()) },
			func(t *testing.T) { simdArithCase(t, floatKernels[float64]()) },
		}[k](t)
	})
}

type arithKernel[T Number] struct {
	name string
	run  func(out, a, b []T) Status
}

func floatKernels[T Number]() []arithKernel[T] {
	return []arithKernel[T]{
		{"add", AddWrap[T]}, {"sub", SubWrap[T]}, {"mul", MulWrap[T]}, {"div", DivWrap[T]}, {"div checked", DivChecked[T]},
	}
}

func simdIntegerCase[T Integer](t *testing.T) {
	simdArithCase(t, append(floatKernels[T](),
		arithKernel[T]{"add checked", AddChecked[T]}, arithKernel[T]{"sub checked", SubChecked[T]}, arithKernel[T]{"mul checked", MulChecked[T]}))
}

func simdArithCase[T Number](t *testing.T, kernels []arithKernel[T]) {
	gd := newGuard(t)
	check := func(name string, k arithKernel[T], out, a, b []T) {
		t.Helper()
		want := make([]T, len(a))
		var status Status
		withLevel(levelNone, func() { status = k.run(want, a, b) })
		if got := k.run(out, a, b); got != status {
			t.Fatalf("%s, %s: status %d, want %d", name, k.name, got, status)
		}
		for i := range want {
			if !same(out[i], want[i]) {
				t.Fatalf("%s, %s: row %d is %v, want %v", name, k.name, i, out[i], want[i])
			}
		}
	}
	simdInputs(t, func(name string, a, b []T, _ Bitmap) {
		for _, k := range kernels {
			check(name, k, guarded(gd, make([]T, len(a)), false), a, b)
		}
	})
	// Values that seldom fail, and one that does, alone and in any place; a
	// large output, past the cache; and in place.
	r := newRand(6)
	lowest, highest := limits[T]()
	edges := append(randomValues[T](r, 30), lowest, highest, 0, 1, 2, lowest/2, highest/2)
	large := make([]T, streamBytes)
	for round := range 600 {
		n := 64 * (1 + r.IntN(4))
		a, b := make([]T, n), make([]T, n)
		for i := range a {
			a[i], b[i] = T(1+r.IntN(10)), T(1+r.IntN(10))
		}
		a[r.IntN(n)], b[r.IntN(n)] = edges[r.IntN(len(edges))], edges[r.IntN(len(edges))]
		if i := r.IntN(n); round%2 == 0 {
			a[i], b[i] = edges[r.IntN(len(edges))], edges[r.IntN(len(edges))]
		}
		for _, k := range kernels {
			name := fmt.Sprintf("round %d", round)
			check(name, k, make([]T, n), a, b)
			at := r.IntN(3) * 32
			check(name+", large", k, large[at:at+n], a, b)
			for _, first := range []bool{false, true} {
				x, y := append([]T{}, a...), append([]T{}, b...)
				want := make([]T, n)
				status := k.run(want, a, b)
				out := x
				if first {
					out = y
				}
				if got := k.run(out, x, y); got != status {
					t.Fatalf("%s, %s in place: status %d, want %d", name, k.name, got, status)
				}
				for i := range want {
					if !same(out[i], want[i]) {
						t.Fatalf("%s, %s in place: row %d is %v, want %v", name, k.name, i, out[i], want[i])
					}
				}
			}
		}
	}
}
