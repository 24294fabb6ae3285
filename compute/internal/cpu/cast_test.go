package cpu

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"unsafe"
)

func TestCast(t *testing.T) {
	testCastsFrom[int8](t)
	testCastsFrom[int16](t)
	testCastsFrom[int32](t)
	testCastsFrom[int64](t)
	testCastsFrom[uint8](t)
	testCastsFrom[uint16](t)
	testCastsFrom[uint32](t)
	testCastsFrom[uint64](t)
	testCastsFrom[float32](t)
	testCastsFrom[float64](t)
}

func testCastsFrom[I Number](t *testing.T) {
	testCast[int8, I](t)
	testCast[int16, I](t)
	testCast[int32, I](t)
	testCast[int64, I](t)
	testCast[uint8, I](t)
	testCast[uint16, I](t)
	testCast[uint32, I](t)
	testCast[uint64, I](t)
	testCast[float32, I](t)
	testCast[float64, I](t)
}

// castTestRows is more than a block of 64 rows and its tail.
const castTestRows = 64*3 + 5

func testCast[O, I Number](t *testing.T) {
	t.Run(fmt.Sprintf("%T/%T", I(0), O(0)), func(t *testing.T) {
		r := newRand(uint64(kindBits[O]()*100 + kindBits[I]()))
		edges := castEdges[I]()
		for round := range 60 {
			a := make([]I, castTestRows)
			for i := range a {
				a[i] = I(r.IntN(100)) // survives everywhere
			}
			// Any number of edges, often just one.
			for range 1 + r.IntN(3)*r.IntN(40) {
				a[r.IntN(castTestRows)] = edges[r.IntN(len(edges))]
			}
			if round == 0 {
				copy(a, edges)
			}
			checkCast[O](t, a)
		}
	})
}

func kindBits[T Number]() int {
	return int(unsafe.Sizeof(T(0)))*4 + statusBit(isFloat[T]())*2 + statusBit(isUnsigned[T]())
}

func statusBit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// castEdges are the values at which casts go wrong: about powers of two and half way between floats.
func castEdges[I Number]() []I {
	var out []I
	if isFloat[I]() {
		for _, f := range []float64{0, math.Copysign(0, -1), 0.5, -0.5, -0.9, 1e-30, 1e-320, math.NaN(), math.Inf(1), math.Inf(-1),
			math.MaxFloat32, math.MaxFloat64, 0x1p-149, 0x1p-150, 0x1.8p-149, 0x1.000001p0, 0x1.0000010000001p0, 16777217, 33554435} {
			out = append(out, floatOf[I](f), floatOf[I](-f))
		}
		for p := 0; p <= 66; p++ {
			f := math.Ldexp(1, p)
			for _, v := range []float64{f, f - 1, f - 0.5, f + 0.5, f + 1, math.Nextafter(f, 0), math.Nextafter(f, 1e30)} {
				out = append(out, floatOf[I](v), floatOf[I](-v))
				if s := math.Nextafter32(float32(v), 0); !math.IsNaN(float64(s)) {
					out = append(out, floatOf[I](float64(s)))
				}
			}
		}
		return out
	}
	r := newRand(3)
	for p := range 64 {
		for _, d := range []uint64{0, 1, 2, ^uint64(0), ^uint64(1), 1 << max(p-24, 0), 1<<max(p-24, 0) + 1, 3 << max(p-24, 0), 1<<max(p-53, 0) + 1, 3 << max(p-53, 0), r.Uint64() >> (64 - p)} {
			v := uint64(1)<<p + d
			out = append(out, I(v), I(-v))
		}
	}
	return out
}

// checkCast compares casts with arithmetic on numbers of any size.
func checkCast[O, I Number](t *testing.T, a []I) {
	t.Helper()
	out := make([]O, len(a))
	CastWrap(out, a)
	lost := false
	for i, v := range a {
		want, ok := castOf[O](v)
		if !same(out[i], want) {
			t.Fatalf("row %d: %v (%x) gives %v, want %v", i, v, v, out[i], want)
		}
		lost = lost || !ok
	}
	clear(out)
	status := CastChecked(out, a)
	if (status != 0) != lost {
		t.Fatalf("status %d, want an error: %t", status, lost)
	}
	for i, v := range a {
		if want, ok := castOf[O](v); ok && !same(out[i], want) {
			t.Fatalf("checked, row %d: %v gives %v, want %v", i, v, out[i], want)
		}
	}
}

// castOf is the cast of one value and whether it survives.
func castOf[O, I Number](v I) (out O, ok bool) {
	f := float64(v) // exact for floats
	if isFloat[O]() && isFloat[I]() {
		return floatOf[O](f), true
	}
	if isFloat[O]() {
		x := wholeOf(v)
		limit := new(big.Int).Lsh(big.NewInt(1), uint(wholeBits[O]()))
		ok = x.CmpAbs(limit) <= 0
		if unsafe.Sizeof(O(0)) == 4 {
			s, _ := new(big.Float).SetInt(x).Float32()
			return O(s), ok
		}
		d, _ := new(big.Float).SetInt(x).Float64()
		return O(d), ok
	}
	low, high := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(8*unsafe.Sizeof(O(0))))
	modulus := new(big.Int).Set(high)
	if !isUnsigned[O]() {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	high.Sub(high, big.NewInt(1))
	x := new(big.Int)
	whole := true
	if isFloat[I]() {
		switch {
		case math.IsNaN(f):
			return 0, false
		case math.IsInf(f, 1):
			return bigTo[O](high), false
		case math.IsInf(f, -1):
			return bigTo[O](low), false
		}
		whole = f == math.Trunc(f)
		big.NewFloat(math.Trunc(f)).Int(x)
		switch {
		case x.Cmp(low) < 0:
			return bigTo[O](low), false
		case x.Cmp(high) > 0:
			return bigTo[O](high), false
		}
		return bigTo[O](x), whole
	}
	x = wholeOf(v)
	ok = x.Cmp(low) >= 0 && x.Cmp(high) <= 0
	return bigTo[O](x.Mod(x, modulus)), ok
}

// bigTo is the integer of type O with the low bits of x.
func bigTo[O Number](x *big.Int) O {
	m := new(big.Int).Lsh(big.NewInt(1), 64)
	return O(new(big.Int).Mod(x, m).Uint64())
}

func wholeOf[I Number](v I) *big.Int {
	if isUnsigned[I]() {
		return new(big.Int).SetUint64(uint64(v))
	}
	return big.NewInt(int64(v))
}
