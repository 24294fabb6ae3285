package cpu

import (
	"math"
	"math/big"
	"testing"
)

func TestSumAndExtremes(t *testing.T) {
	run[int8](t, testIntegerAggregates[int8])
	run[int16](t, testIntegerAggregates[int16])
	run[int32](t, testIntegerAggregates[int32])
	run[int64](t, testIntegerAggregates[int64])
	run[uint8](t, testIntegerAggregates[uint8])
	run[uint16](t, testIntegerAggregates[uint16])
	run[uint32](t, testIntegerAggregates[uint32])
	run[uint64](t, testIntegerAggregates[uint64])
	run[float32](t, testMinMax[float32])
	run[float64](t, testMinMax[float64])
}

func testIntegerAggregates[T Integer](t *testing.T) {
	testMinMax[T](t)
	r := newRand(8)
	for _, n := range lengths {
		values := randomValues[T](r, n)
		bitmaps(r, n, func(name string, valid Bitmap) {
			sum, wrapped, count := new(big.Int), uint64(0), 0
			for i, v := range values {
				if valid.Bit(i) {
					sum.Add(sum, wide(v))
					wrapped += uint64(v)
					count++
				}
			}
			if got := SumInt(values, valid); got != wrapped {
				t.Fatalf("n=%d/%s: SumInt = %d, want %d", n, name, got, wrapped)
			}
			if got := SumInt128(values, valid); got.big().Cmp(sum) != 0 {
				t.Fatalf("n=%d/%s: SumInt128 = %v, want %v", n, name, got.big(), sum)
			}
			if got := CountValid(valid, n); got != count {
				t.Fatalf("n=%d/%s: CountValid = %d, want %d", n, name, got, count)
			}
		})
	}
	// Sums that only extreme values reach.
	lowest, highest := limits[T]()
	for _, v := range []T{lowest, highest} {
		values := make([]T, 1000)
		for i := range values {
			values[i] = v
		}
		want := new(big.Int).Mul(wide(v), big.NewInt(1000))
		if got := SumInt128(values, Bitmap{}); got.big().Cmp(want) != 0 {
			t.Fatalf("1000 * %v = %v, want %v", v, got.big(), want)
		}
	}
}

func (a Int128) big() *big.Int {
	v := big.NewInt(a.Hi)
	return v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(a.Lo))
}

func TestInt128(t *testing.T) {
	r := newRand(9)
	random := func() Int128 {
		// Few significant bits anywhere, so that ties occur.
		v := Int128{Hi: int64(r.Uint64()), Lo: r.Uint64()}
		switch r.IntN(4) {
		case 0:
			v.Lo &= 3 << r.IntN(63)
		case 1:
			v = Int128{Lo: v.Lo}
		case 2:
			v.Hi >>= r.IntN(64)
			v.Lo &= ^uint64(0) << r.IntN(64)
		}
		return v
	}
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	check := func(a Int128) {
		t.Helper()
		want, _ := new(big.Float).SetInt(a.big()).Float64()
		if got := a.Float64(); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Fatalf("Float64(%v) = %v, want %v", a.big(), got, want)
		}
	}
	for range 20000 {
		a, b := random(), random()
		sum, got := new(big.Int).Add(a.big(), b.big()), a.Add(b).big()
		if new(big.Int).Mod(sum.Sub(sum, got), modulus).Sign() != 0 {
			t.Fatalf("%v + %v = %v", a.big(), b.big(), got)
		}
		check(a)
	}
	for shift := range 75 {
		for _, near := range []int64{-1, 0, 1} {
			for _, odd := range []uint64{0, 1} {
				// Half way between two neighbours of 53 bits, and next to it.
				v := new(big.Int).SetUint64(1<<53 | odd<<1 | 1)
				v.Lsh(v, uint(shift)).Add(v, big.NewInt(near))
				if v.BitLen() > 127 {
					continue
				}
				lo := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
				a := Int128{Hi: new(big.Int).Rsh(v, 64).Int64(), Lo: lo}
				check(a)
				check(Int128{}.Add(Int128{Hi: ^a.Hi, Lo: ^a.Lo}).Add(Int128{Lo: 1}))
			}
		}
	}
	for _, a := range []Int128{{}, {Hi: math.MinInt64}, {Hi: math.MaxInt64, Lo: math.MaxUint64}, {Hi: -1, Lo: math.MaxUint64}, {Lo: math.MaxUint64}} {
		check(a)
	}
}

// below is the total order of values that are not NaN.
func below[T Number](a, b T) bool {
	if isFloat[T]() && a == 0 && b == 0 {
		return math.Signbit(float64(a)) && !math.Signbit(float64(b))
	}
	return a < b
}

func testMinMax[T Number](t *testing.T) {
	r := newRand(10)
	for _, n := range lengths {
		values := randomValues[T](r, n)
		if n%2 == 1 && isFloat[T]() {
			// Let zeros be extremes.
			for i, v := range values {
				if v < 0 {
					values[i] = 0
				}
			}
		}
		bitmaps(r, n, func(name string, valid Bitmap) {
			var want Extremes[T]
			for i, v := range values {
				if !valid.Bit(i) || v != v {
					continue
				}
				if want.N == 0 || below(v, want.Min) {
					want.Min = v
				}
				if want.N == 0 || below(want.Max, v) {
					want.Max = v
				}
				want.N++
			}
			check := func(how string, got Extremes[T]) {
				t.Helper()
				if got.N != want.N || want.N > 0 && (!same(got.Min, want.Min) || !same(got.Max, want.Max)) {
					t.Fatalf("n=%d/%s: %s = %v, want %v", n, name, how, got, want)
				}
			}
			check("MinMax", MinMax(values, valid))
			cut := n / 3
			head, tail := MinMax(values[:cut], valid), MinMax(values[cut:], valid.Slice(cut))
			check("head.Merge(tail)", head.Merge(tail))
			check("tail.Merge(head)", tail.Merge(head))
		})
	}
}

func TestMinMaxZeros(t *testing.T) {
	zero, nan := 0.0, math.NaN()
	minus := math.Copysign(0, -1)
	cases := []struct {
		values   []float64
		min, max float64
		n        int
	}{
		{[]float64{zero, minus}, minus, zero, 2},
		{[]float64{minus, zero}, minus, zero, 2},
		{[]float64{-1, minus, zero, minus}, -1, zero, 4},
		{[]float64{-1, minus, minus}, -1, minus, 3},
		{[]float64{1, zero, minus, zero}, minus, 1, 4},
		{[]float64{1, zero, zero}, zero, 1, 3},
		{[]float64{nan, minus, nan, zero, nan, nan}, minus, zero, 2},
		{[]float64{nan, nan}, 0, 0, 0},
		{[]float64{nan, math.Inf(1), math.Inf(-1)}, math.Inf(-1), math.Inf(1), 2},
	}
	for _, c := range cases {
		if got := MinMax(c.values, Bitmap{}); got.N != c.n || !same(got.Min, c.min) || !same(got.Max, c.max) {
			t.Errorf("MinMax(%v) = %v", c.values, got)
		}
	}
}
