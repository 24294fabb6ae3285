package cpu

import (
	"math"
	"math/big"
	"testing"
	"unsafe"
)

func TestArithmetic(t *testing.T) {
	run[int8](t, testIntegers[int8])
	run[int16](t, testIntegers[int16])
	run[int32](t, testIntegers[int32])
	run[int64](t, testIntegers[int64])
	run[uint8](t, testIntegers[uint8])
	run[uint16](t, testIntegers[uint16])
	run[uint32](t, testIntegers[uint32])
	run[uint64](t, testIntegers[uint64])
	run[float32](t, testFloats[float32])
	run[float64](t, testFloats[float64])
}

// wide is the mathematical value of v.
func wide[T Integer](v T) *big.Int {
	if isSigned[T]() {
		return big.NewInt(int64(v))
	}
	return new(big.Int).SetUint64(uint64(v))
}

// narrow wraps v to T and reports whether it did not fit.
func narrow[T Integer](v *big.Int) (T, Status) {
	size := uint(unsafe.Sizeof(T(0)) * 8)
	modulus := new(big.Int).Lsh(big.NewInt(1), size)
	r := T(new(big.Int).Mod(v, modulus).Uint64())
	if wide(r).Cmp(v) != 0 {
		return r, Overflow
	}
	return r, 0
}

func testIntegers[T Integer](t *testing.T) {
	type kernel func(out, a, b []T) Status
	type rule func(z, a, b *big.Int) *big.Int
	kernels := []struct {
		name          string
		wrap, checked kernel
		rule          rule
	}{
		{"add", AddWrap[T], AddChecked[T], (*big.Int).Add},
		{"subtract", SubWrap[T], SubChecked[T], (*big.Int).Sub},
		{"multiply", MulWrap[T], MulChecked[T], (*big.Int).Mul},
		{"divide", DivWrap[T], DivChecked[T], (*big.Int).Quo},
	}
	check := func(name string, k kernel, wrap bool, rule rule, a, b []T) {
		t.Helper()
		out := make([]T, len(a))
		var want Status
		got := k(out, a, b)
		for i := range a {
			var v T
			var s Status
			if name == "divide" && b[i] == 0 {
				s = DivideByZero
			} else if v, s = narrow[T](rule(new(big.Int), wide(a[i]), wide(b[i]))); wrap || name == "divide" {
				if name == "divide" && s != 0 {
					v = 0
				}
				if wrap {
					s = 0
				}
			}
			if out[i] != v {
				t.Fatalf("%s(%v, %v) = %v, want %v", name, a[i], b[i], out[i], v)
			}
			want |= s
		}
		if got != want {
			t.Fatalf("%s(%v, %v): status %d, want %d", name, a, b, got, want)
		}
	}
	r := newRand(6)
	for _, k := range kernels {
		for range 2000 {
			a, b := randomValues[T](r, 1), randomValues[T](r, 1)
			check(k.name, k.wrap, true, k.rule, a, b)
			check(k.name, k.checked, false, k.rule, a, b)
		}
		for _, n := range lengths {
			a, b := randomValues[T](r, n), randomValues[T](r, n)
			check(k.name, k.wrap, true, k.rule, a, b)
			check(k.name, k.checked, false, k.rule, a, b)
		}
		if unsafe.Sizeof(T(0)) == 1 {
			// A step that is odd meets every byte on both sides.
			for i := 0; i < 1<<16; i += 7 {
				a, b := []T{T(i)}, []T{T(i >> 8)}
				check(k.name, k.wrap, true, k.rule, a, b)
				check(k.name, k.checked, false, k.rule, a, b)
			}
		}
	}
	testOverValid(t, r.IntN(9), AddChecked[T])
	testOverValid(t, r.IntN(9), DivChecked[T])
}

func testFloats[T Float](t *testing.T) {
	kernels := []struct {
		name string
		run  func(out, a, b []T) Status
		want func(a, b T) (T, Status)
	}{
		{"add", AddWrap[T], func(a, b T) (T, Status) { return a + b, 0 }},
		{"subtract", SubWrap[T], func(a, b T) (T, Status) { return a - b, 0 }},
		{"multiply", MulWrap[T], func(a, b T) (T, Status) { return a * b, 0 }},
		{"divide", DivWrap[T], func(a, b T) (T, Status) { return a / b, 0 }},
		{"divide_checked", DivChecked[T], func(a, b T) (T, Status) {
			if b == 0 {
				return 0, DivideByZero
			}
			return a / b, 0
		}},
	}
	r := newRand(7)
	for _, k := range kernels {
		for _, n := range lengths {
			a, b, out := randomValues[T](r, n), randomValues[T](r, n), make([]T, n)
			got := k.run(out, a, b)
			var want Status
			for i := range a {
				v, s := k.want(a[i], b[i])
				want |= s
				if !same(out[i], v) {
					t.Fatalf("%s(%v, %v) = %v, want %v", k.name, a[i], b[i], out[i], v)
				}
			}
			if got != want {
				t.Fatalf("%s: status %d, want %d", k.name, got, want)
			}
		}
	}
	one, zero := []T{1}, []T{0}
	out := []T{0}
	if s := DivWrap(out, one, zero); s != 0 || !math.IsInf(float64(out[0]), 1) {
		t.Fatalf("1/0 = %v, status %d", out[0], s)
	}
	testOverValid(t, r.IntN(9), DivChecked[T])
}

// testOverValid wants the results of f everywhere it is valid, and its Status
// there alone.
func testOverValid[T Number](t *testing.T, seed int, f func(out, a, b []T) Status) {
	r := newRand(uint64(seed))
	for _, n := range lengths {
		a, b := randomValues[T](r, n), randomValues[T](r, n)
		if n > 100 {
			for i := range a {
				a[i], b[i] = 1, 1
			}
			a[n-70], b[n-70] = 0, 0
		}
		bitmaps(r, n, func(name string, valid Bitmap) {
			out, one := make([]T, n), make([]T, 1)
			got := OverValid(f, out, a, b, valid)
			var want Status
			for i := range n {
				if valid.Bit(i) {
					want |= f(one, a[i:i+1], b[i:i+1])
					if !same(out[i], one[0]) {
						t.Fatalf("n=%d/%s: row %d is %v, want %v", n, name, i, out[i], one[0])
					}
				}
			}
			if got != want {
				t.Fatalf("n=%d/%s: status %d, want %d", n, name, got, want)
			}
		})
	}
}
