package cpu

import (
	"math"
	"math/big"
	"testing"
)

func TestBlend(t *testing.T) {
	testBlend[uint8](t)
	testBlend[uint16](t)
	testBlend[uint32](t)
	testBlend[uint64](t)
}

func testBlend[T uint8 | uint16 | uint32 | uint64](t *testing.T) {
	r := newRand(3)
	for _, n := range lengths {
		for _, ratio := range ratios {
			a, b, out := make([]T, n), make([]T, n), make([]T, n)
			choice := make([]uint64, (n+63)/64)
			for i := range a {
				a[i], b[i] = T(r.Uint64()), T(r.Uint64())
				if r.Float64() < ratio {
					choice[i/64] |= 1 << (i % 64)
				}
			}
			Blend(out, a, b, choice)
			for i := range out {
				want := b[i]
				if choice[i/64]>>(i%64)&1 != 0 {
					want = a[i]
				}
				if out[i] != want {
					t.Fatalf("%T: row %d of %d is %d, want %d", out[i], i, n, out[i], want)
				}
			}
		}
	}
}

// A value just below one half is not a tie, however its distance to the floor rounds.
func TestIntegralNearTies(t *testing.T) {
	below := math.Nextafter(0.5, 0)
	for mode := RoundHalfDown; mode <= RoundHalfToOdd; mode++ {
		for _, x := range []float64{below, -below} {
			if got := Integral(x, mode); got != 0 || math.Signbit(got) != math.Signbit(x) {
				t.Errorf("mode %d: %v rounds to %v", mode, x, got)
			}
		}
	}
}

// What is too small to survive the division still rounds by its sign.
func TestRoundTinyValues(t *testing.T) {
	for mode, want := range map[RoundMode][2]float64{RoundUp: {1e300, 0}, RoundDown: {0, -1e300}, RoundHalfToEven: {0, 0}} {
		for k, x := range []float64{1e-300, -1e-300} {
			out := []float64{7}
			if st := Round(out, []float64{x}, []float64{1e300}, mode); st != 0 || out[0] != want[k] {
				t.Errorf("mode %d: %v gives %v (status %d), want %v", mode, x, out[0], st, want[k])
			}
		}
	}
}

func TestPower(t *testing.T) {
	testPower[int8](t)
	testPower[uint8](t)
	testPower[int64](t)
	testPower[uint64](t)
}

func testPower[T Integer](t *testing.T) {
	low, high := limits[T]()
	for _, x := range []T{0, 1, 2, 3, 7, low, low + 1, high, high - 1, 10} {
		for y := T(0); y < 70; y++ {
			var wrapped, checked [1]T
			PowerWrap(wrapped[:], []T{x}, []T{y})
			st := PowerChecked(checked[:], []T{x}, []T{y})
			base := new(big.Int).SetUint64(uint64(x))
			if isSigned[T]() {
				base = big.NewInt(int64(x))
			}
			exact := new(big.Int).Exp(base, big.NewInt(int64(y)), nil)
			mod := new(big.Int).Mod(exact, new(big.Int).Lsh(big.NewInt(1), 64)).Uint64()
			got := new(big.Int).SetUint64(uint64(T(mod)))
			if isSigned[T]() {
				got = big.NewInt(int64(T(mod)))
			}
			fits := got.Cmp(exact) == 0
			if wrapped[0] != T(mod) || (st == 0) != fits || fits && checked[0] != T(mod) {
				t.Fatalf("%d to the power %d: %d, %d with status %d, want %d", x, y, wrapped[0], checked[0], st, exact)
			}
		}
	}
}
