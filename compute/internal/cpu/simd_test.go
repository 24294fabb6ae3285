//go:build linux && amd64 && !noasm

package cpu

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"unsafe"
)

// guardBytes is the size of the memory between two pages that fault.
const guardBytes = 1 << 19

// guard is memory that ends where the next byte faults, and begins so, too.
type guard struct{ memory []byte }

func newGuard(t testing.TB) *guard {
	page := syscall.Getpagesize()
	m, err := syscall.Mmap(-1, 0, guardBytes+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]byte{m[:page], m[page+guardBytes:]} {
		if err := syscall.Mprotect(p, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = syscall.Munmap(m) })
	return &guard{m[page : page+guardBytes]}
}

// guarded copies values to where they end at a page that faults, or, when first
// is set, begin after one.
func guarded[T any](g *guard, values []T, first bool) []T {
	size := len(values) * int(unsafe.Sizeof(*new(T)))
	at := len(g.memory) - size
	if first {
		at = 0
	}
	if size == 0 {
		return nil
	}
	out := unsafe.Slice((*T)(unsafe.Pointer(&g.memory[at])), len(values))
	copy(out, values)
	return out
}

func (g *guard) bitmap(b Bitmap, first bool) Bitmap {
	if b.Data == nil {
		return b
	}
	if b.Data = guarded(g, b.Data, first); b.Data == nil {
		b.Data = []byte{}
	}
	return b
}

// withLevel runs f with the given instructions.
func withLevel(l instructions, f func()) {
	defer func(old instructions) { level = old }(level)
	level = l
	f()
}

// eachLevel runs f for every instruction set of this machine.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	best := detect()
	if best == levelNone {
		t.Skip("this processor has no AVX2: the Go loops run on it, which the other tests cover")
	}
	for l := levelAVX2; l <= best; l++ {
		t.Run([]string{levelAVX2: "avx2", levelAVX512: "avx512"}[l], func(t *testing.T) {
			withLevel(l, func() { f(t) })
		})
	}
}

// simdLengths are the lengths that the kernels are tried with.
func simdLengths() []int {
	n := []int{256, 511, 1024, validRowsMax - 1, validRowsMax + 65, maxRows + 193}
	for i := range 201 {
		n = append(n, i)
	}
	return n
}

// simdInputs calls f with values and validity of all lengths, in all places.
func simdInputs[T Number](t *testing.T, f func(name string, a, b []T, valid Bitmap)) {
	r := newRand(77)
	ga, gb, gv := newGuard(t), newGuard(t), newGuard(t)
	for _, n := range simdLengths() {
		for round := range 4 {
			first := round&1 != 0
			va, vb := randomValues[T](r, n), randomValues[T](r, n)
			for i := range vb { // equal values must be met often
				if r.IntN(3) == 0 {
					vb[i] = va[i]
				}
			}
			if round == 3 { // few values, so that zeros and nothing but NaN are extremes
				pool := randomValues[T](r, 2)
				for i := range va {
					va[i] = pool[r.IntN(2)]
				}
			}
			valid := Bitmap{}
			if round > 0 {
				valid = randomBitmap(r, n, offsets[r.IntN(len(offsets))], ratios[r.IntN(len(ratios))])
			}
			name := fmt.Sprintf("n=%d/round=%d", n, round)
			f(name, guarded(ga, va, first), guarded(gb, vb, first), gv.bitmap(valid, first))
		}
	}
}

// simdCases runs a test for every type.
func simdCases(t *testing.T, f func(t *testing.T, k int)) {
	eachLevel(t, func(t *testing.T) {
		for k := range kindCount {
			t.Run([]string{"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"}[k], func(t *testing.T) { f(t, k) })
		}
	})
}

func TestSIMDCompare(t *testing.T) {
	simdCases(t, func(t *testing.T, k int) {
		[]func(*testing.T){
			simdCompareCase[int8], simdCompareCase[int16], simdCompareCase[int32], simdCompareCase[int64],
			simdCompareCase[uint8], simdCompareCase[uint16], simdCompareCase[uint32], simdCompareCase[uint64],
			simdCompareCase[float32], simdCompareCase[float64],
		}[k](t)
	})
}

func simdCompareCase[T Number](t *testing.T) {
	gd := newGuard(t)
	simdInputs(t, func(name string, a, b []T, _ Bitmap) {
		checkCompare(t, name, guarded(gd, make([]uint64, (len(a)+63)/64), false), a, b)
	})
}

// checkCompare uses got for results.
func checkCompare[T Number](t *testing.T, name string, got []uint64, a, b []T) {
	t.Helper()
	for _, c := range []Comparison{IsLess, IsLessEqual, IsEqual, IsNotEqual, IsGreaterEqual, IsGreater} {
		for _, scalar := range []bool{false, true} {
			f := func(dst []uint64) { Compare(c, dst, a, b) }
			if scalar && len(b) > 0 {
				f = func(dst []uint64) { CompareTo(c, dst, a, b[len(b)/2]) }
			}
			want := make([]uint64, len(got))
			withLevel(levelNone, func() { f(want) })
			f(got)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%s comparison %03b scalar %v word %d: %064b, want %064b", name, c, scalar, i, got[i], want[i])
				}
			}
		}
	}
}

func TestSIMDSum(t *testing.T) {
	simdCases(t, func(t *testing.T, k int) {
		f := []func(*testing.T){
			simdSumCase[int8], simdSumCase[int16], simdSumCase[int32], simdSumCase[int64],
			simdSumCase[uint8], simdSumCase[uint16], simdSumCase[uint32], simdSumCase[uint64],
		}
		if k < len(f) {
			f[k](t)
		}
	})
}

func simdSumCase[T Integer](t *testing.T) {
	simdInputs(t, func(name string, a, _ []T, valid Bitmap) { checkSum(t, name, a, valid) })
	lowest, highest := limits[T]()
	for _, v := range []T{lowest, highest} {
		a := make([]T, 2*maxRows+64)
		for i := range a {
			a[i] = v
		}
		checkSum(t, fmt.Sprintf("all %v", v), a, Bitmap{})
		checkSum(t, fmt.Sprintf("all %v, nulls", v), a, randomBitmap(newRand(3), len(a), 3, 0.1))
	}
}

func checkSum[T Integer](t *testing.T, name string, a []T, valid Bitmap) {
	t.Helper()
	var sum uint64
	var wide Int128
	withLevel(levelNone, func() { sum, wide = SumInt(a, valid), SumInt128(a, valid) })
	if got := SumInt(a, valid); got != sum {
		t.Fatalf("%s: sum %d, want %d", name, got, sum)
	}
	if got := SumInt128(a, valid); got != wide {
		t.Fatalf("%s: wide sum %v, want %v", name, got, wide)
	}
}

func TestSIMDMinMax(t *testing.T) {
	simdCases(t, func(t *testing.T, k int) {
		[]func(*testing.T){
			simdMinMaxCase[int8], simdMinMaxCase[int16], simdMinMaxCase[int32], simdMinMaxCase[int64],
			simdMinMaxCase[uint8], simdMinMaxCase[uint16], simdMinMaxCase[uint32], simdMinMaxCase[uint64],
			simdMinMaxCase[float32], simdMinMaxCase[float64],
		}[k](t)
	})
}

func simdMinMaxCase[T Number](t *testing.T) {
	simdInputs(t, func(name string, a, _ []T, valid Bitmap) { checkMinMax(t, name, a, valid) })
	lowest, highest := limits[T]()
	for _, v := range []T{lowest, highest, lowest + 1, highest - 1} {
		a := make([]T, 192)
		for i := range a {
			old := a[i]
			a[i] = v
			checkMinMax(t, fmt.Sprintf("%v at %d", v, i), a, Bitmap{})
			checkMinMax(t, fmt.Sprintf("%v at %d, nulls", v, i), a, randomBitmap(newRand(1), len(a), 2, 0.1))
			a[i] = old
		}
	}
	if !isFloat[T]() {
		return
	}
	// Any mix of zeros, NaN of both kinds and one more value.
	zero, nan := T(0), floatOf[T](math.NaN())
	odd := []T{zero, -zero, nan, -nan, signaling[T](), 1, floatOf[T](math.Inf(-1))}
	r := newRand(8)
	for range 2000 {
		a := make([]T, 64+r.IntN(70))
		for i, m := 0, 1+r.IntN(len(odd)-1); i < len(a); i++ {
			a[i] = odd[(m+r.IntN(2))%len(odd)]
		}
		checkMinMax(t, fmt.Sprint(a), a, randomBitmap(r, len(a), r.IntN(9), 0.3*float64(r.IntN(3))))
	}
}

func checkMinMax[T Number](t *testing.T, name string, a []T, valid Bitmap) {
	t.Helper()
	var want Extremes[T]
	withLevel(levelNone, func() { want = MinMax(a, valid) })
	got := MinMax(a, valid)
	if got.N != want.N || got.N > 0 && !(same(got.Min, want.Min) && same(got.Max, want.Max)) {
		t.Fatalf("%s: %v, want %v", name, got, want)
	}
}

// signaling is a NaN that arithmetic would turn into another.
func signaling[T Number]() (v T) {
	switch p := any(&v).(type) {
	case *float32:
		*p = math.Float32frombits(0x7f800001)
	case *float64:
		*p = math.Float64frombits(0x7ff0000000000001)
	}
	return v
}

func TestRowsOfCallsAreBounded(t *testing.T) {
	for _, n := range []int{-64, 0, 1, 63, 65, maxRows + 64, math.MaxInt &^ 63, math.MinInt} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a call of %d rows went through", n)
				}
			}()
			checkRows(n)
		}()
	}
	for n := 64; n <= maxRows; n += 64 {
		checkRows(n)
	}
}

func TestSIMDExact(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		run[float32](t, simdExactCase[float32])
		run[float64](t, simdExactCase[float64])
	})
}

func simdExactCase[T Float](t *testing.T) {
	simdInputs(t, func(name string, a, _ []T, valid Bitmap) { checkExact(t, name, a, valid) })
	splitCase[T](t)
}

func TestSIMDFilter(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		run[uint8](t, simdFilterCase[uint8])
		run[uint16](t, simdFilterCase[uint16])
		run[uint32](t, simdFilterCase[uint32])
		run[uint64](t, simdFilterCase[uint64])
	})
}

func simdFilterCase[T Integer](t *testing.T) {
	gs, gd, gm, gb := newGuard(t), newGuard(t), newGuard(t), newGuard(t)
	r := newRand(9)
	for _, n := range append(simdLengths(), 3*selectMorsel-1) {
		for _, clear := range ratios {
			src := make([]T, n)
			for i := range src {
				src[i] = T(i*7 + 1)
			}
			first := r.IntN(2) == 0
			mask := gm.bitmap(randomBitmap(r, n, r.IntN(9), clear), first)
			kept := mask.Count(n)
			dst, bits := guarded(gd, make([]T, kept), first), guarded(gb, make([]byte, (kept+7)/8), first)
			checkFilter(t, fmt.Sprintf("n=%d clear=%v", n, clear), dst, guarded(gs, src, first), bits, mask)
		}
	}
}

// checkFilter filters values and the mask itself.
func checkFilter[T Number](t *testing.T, name string, dst, src []T, bits []byte, mask Bitmap) {
	t.Helper()
	s := selected(mask, Bitmap{}, len(src), false, 1)
	if s.Count() != len(dst) {
		t.Fatalf("%s: %d rows are kept, want %d", name, s.Count(), len(dst))
	}
	s.Bits(bits, mask, 1)
	for way, filter := range map[string]func(){
		"cached": func() { filterValues(s, dst, src, 1) }, "streamed": func() { streamRows(s, dst, src, 0, len(src)) },
	} {
		clear(dst)
		filter()
		at := 0
		for i := range src {
			if mask.Bit(i) {
				if !same(dst[at], src[i]) {
					t.Fatalf("%s, %s: row %d is %v, want %v", name, way, at, dst[at], src[i])
				}
				at++
			}
		}
	}
	if got := (Bitmap{Data: bits}).Count(8 * len(bits)); got != len(dst) {
		t.Fatalf("%s: %d bits are set, want %d", name, got, len(dst))
	}
}

func TestSIMDBits(t *testing.T) {
	ops := []func(dst []byte, a, b Bitmap, n int){
		AndBits, OrBits, XorBits, AndNotBits,
		func(dst []byte, a, _ Bitmap, n int) { NotBits(dst, a, n) },
		func(dst []byte, a, _ Bitmap, n int) { CopyBits(dst, a, n) },
	}
	eachLevel(t, func(t *testing.T) {
		ga, gb, gd := newGuard(t), newGuard(t), newGuard(t)
		r := newRand(4)
		for _, n := range []int{0, 1, 64, 511, 512, 513, 519, 520, 575, 576, 1000, 1023, 1024, 1087, 4096, 8*maxRows - 1, 8*maxRows + 700} {
			for round := range 60 {
				first := round%2 == 0
				a := ga.bitmap(randomBitmap(r, n, round%10, 0.4), first)
				b := gb.bitmap(randomBitmap(r, n, r.IntN(10)*r.IntN(2), 0.6), first)
				op := round % len(ops)
				want := make([]byte, (n+7)/8)
				var count int
				withLevel(levelNone, func() { ops[op](want, a, b, n); count = a.Count(n) })
				got := guarded(gd, make([]byte, (n+7)/8), first)
				ops[op](got, a, b, n)
				if string(got) != string(want) {
					t.Fatalf("op %d, %d rows at %d and %d: wrong bits", op, n, a.Off, b.Off)
				}
				if got := a.Count(n); got != count {
					t.Fatalf("%d rows at %d: %d bits, want %d", n, a.Off, got, count)
				}
				if a.Off == 0 { // in place
					ops[op](a.Data, a, b, n)
					if string(a.Data) != string(want) {
						t.Fatalf("op %d, %d rows at %d and %d: wrong bits in place", op, n, a.Off, b.Off)
					}
				}
			}
		}
	})
}
