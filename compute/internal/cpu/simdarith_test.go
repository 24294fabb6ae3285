//go:build linux && amd64 && !noasm

package cpu

import (
	"fmt"
	"testing"
	"unsafe"
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

func intKernels[T Integer]() []arithKernel[T] {
	return append(floatKernels[T](),
		arithKernel[T]{"add checked", AddChecked[T]}, arithKernel[T]{"sub checked", SubChecked[T]}, arithKernel[T]{"mul checked", MulChecked[T]})
}

func simdIntegerCase[T Integer](t *testing.T) { simdArithCase(t, intKernels[T]()) }

func checkArith[T Number](t *testing.T, name string, k arithKernel[T], out, a, b []T) {
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

func simdArithCase[T Number](t *testing.T, kernels []arithKernel[T]) {
	gd := newGuard(t)
	large := make([]T, streamBytes) // its outputs go past the caches
	simdInputs(t, func(name string, a, b []T, _ Bitmap) {
		for _, k := range kernels {
			checkArith(t, name, k, guarded(gd, make([]T, len(a)), false), a, b)
			checkArith(t, name+", large", k, large[:len(a)], a, b)
		}
	})
	// Values that seldom fail, and one that does, alone and in any place, and
	// in place.
	r := newRand(6)
	lowest, highest := limits[T]()
	edges := append(randomValues[T](r, 30), lowest, highest, 0, 1, 2, lowest/2, highest/2)
	for round := range 600 {
		n := 64 * (1 + r.IntN(4))
		a, b := make([]T, n), make([]T, n)
		for i := range a {
			a[i], b[i] = T(1+r.IntN(10)), T(1+r.IntN(10))
			if round%3 == 0 && lowest < 0 && r.IntN(2) == 0 {
				a[i], b[i] = -a[i], b[i]-5
			}
		}
		a[r.IntN(n)], b[r.IntN(n)] = edges[r.IntN(len(edges))], edges[r.IntN(len(edges))]
		if i := r.IntN(n); round%2 == 0 {
			a[i], b[i] = edges[r.IntN(len(edges))], edges[r.IntN(len(edges))]
		}
		for _, k := range kernels {
			name := fmt.Sprintf("round %d", round)
			checkArith(t, name, k, make([]T, n), a, b)
			at := r.IntN(3) * 32
			checkArith(t, name+", large", k, large[at:at+n], a, b)
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

// FuzzSIMD reads two columns and validity from data and tries every kernel with
// every instruction set.
func FuzzSIMD(f *testing.F) {
	for kind := range kindCount {
		f.Add([]byte("0123456789abcdef"), uint8(kind), uint8(3))
		f.Add(make([]byte, 2100), uint8(kind), uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, kind, off uint8) {
		for l := levelNone; l <= detect(); l++ {
			withLevel(l, func() {
				switch kind % kindCount {
				case 0:
					fuzzInts[int8](t, data, int(off))
				case 1:
					fuzzInts[int16](t, data, int(off))
				case 2:
					fuzzInts[int32](t, data, int(off))
				case 3:
					fuzzInts[int64](t, data, int(off))
				case 4:
					fuzzInts[uint8](t, data, int(off))
				case 5:
					fuzzInts[uint16](t, data, int(off))
				case 6:
					fuzzInts[uint32](t, data, int(off))
				case 7:
					fuzzInts[uint64](t, data, int(off))
				case 8:
					fuzzFloats[float32](t, data, int(off))
				default:
					fuzzFloats[float64](t, data, int(off))
				}
			})
		}
	})
}

func fuzzInts[T Integer](t *testing.T, data []byte, off int) {
	a, valid := fuzzColumns(t, data, off, intKernels[T]())
	checkSum(t, "sum", a, valid)
	checkSum(t, "dense sum", a, Bitmap{})
}

func fuzzFloats[T Float](t *testing.T, data []byte, off int) {
	a, valid := fuzzColumns(t, data, off, floatKernels[T]())
	checkExact(t, "sum", a, valid)
	checkExact(t, "dense sum", a, Bitmap{})
}

// fuzzColumns repeats short data, so that whole vectors appear.
func fuzzColumns[T Number](t *testing.T, data []byte, off int, kernels []arithKernel[T]) ([]T, Bitmap) {
	if len(data) == 0 {
		return nil, Bitmap{}
	}
	n, size := off+len(data)%512, int(unsafe.Sizeof(T(0)))
	raw := repeated(data, 2*n*size+(n+off+7)/8+1)
	a, b := make([]T, n), make([]T, n)
	copy(bytesOf(a), raw)
	copy(bytesOf(b), raw[n*size:])
	valid := Bitmap{Data: raw[2*n*size:], Off: off % 8}
	checkCompare(t, "compare", make([]uint64, (n+63)/64), a, b)
	checkMinMax(t, "min max", a, valid)
	checkMinMax(t, "dense min max", b, Bitmap{})
	kept := valid.Count(n)
	checkFilter(t, "filter", make([]T, kept), a, make([]byte, (kept+7)/8), valid)
	for _, k := range kernels {
		checkArith(t, "arithmetic", k, make([]T, n), a, b)
	}
	return a, valid
}
