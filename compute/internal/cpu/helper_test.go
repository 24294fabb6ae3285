package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

var (
	offsets = []int{0, 1, 7, 8, 31, 32, 33, 63, 64}
	lengths = []int{0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4097}
	ratios  = []float64{0, 0.02, 0.3, 0.9, 1}
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// randomBitmap returns n bits of which a ratio is clear, at an offset, between
// random bits, in exactly the bytes they need. Some stretches are uniform.
func randomBitmap(r *rand.Rand, n, off int, clear float64) Bitmap {
	data := make([]byte, (off+n+7)/8)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for i, forced := 0, 0; i < n; i++ {
		if i%64 == 0 {
			forced = r.IntN(6)
		}
		set := r.Float64() >= clear
		if clear > 0 && clear < 1 {
			set = (set || forced == 0) && forced != 1
		}
		p := off + i
		data[p>>3] &^= 1 << (p & 7)
		if set {
			data[p>>3] |= 1 << (p & 7)
		}
	}
	return Bitmap{Data: data, Off: off}
}

// bitmaps yields an absent bitmap and one for every offset and ratio.
func bitmaps(r *rand.Rand, n int, f func(name string, b Bitmap)) {
	f("absent", Bitmap{})
	for _, off := range offsets {
		for _, ratio := range ratios {
			f(fmt.Sprintf("off=%d/clear=%v", off, ratio), randomBitmap(r, n, off, ratio))
		}
	}
}

func limits[T Number]() (lowest, highest T) {
	size := unsafe.Sizeof(T(0)) * 8
	switch {
	case isFloat[T]():
		highest = floatOf[T](math.Inf(1))
		return -highest, highest
	case T(0)-1 > 0:
		return 0, T(0) - 1
	}
	highest = T(uint64(1)<<(size-1) - 1)
	return -highest - 1, highest
}

// floatOf converts where T is a float; T's other instantiations never call it.
func floatOf[T Number](v float64) T { return T(v) }

// randomValues mixes small values with the edges of the type.
func randomValues[T Number](r *rand.Rand, n int) []T {
	lowest, highest := limits[T]()
	edges := []T{0, 1, 2, 3, lowest, highest, lowest + 1, highest - 1, highest / 2, lowest / 2, T(0) - 1}
	if isFloat[T]() {
		negativeZero := T(0)
		negativeZero = -negativeZero
		edges = append(edges, floatOf[T](math.NaN()), floatOf[T](math.Copysign(0, -1)), negativeZero,
			floatOf[T](math.SmallestNonzeroFloat32), floatOf[T](-1.5), floatOf[T](math.MaxFloat32))
	}
	v := make([]T, n)
	for i := range v {
		switch r.IntN(3) {
		case 0:
			v[i] = edges[r.IntN(len(edges))]
		case 1:
			v[i] = T(r.IntN(100))
		default:
			if isFloat[T]() {
				v[i] = floatOf[T](math.Ldexp(r.NormFloat64(), r.IntN(60)-30))
			} else {
				v[i] = T(r.Uint64())
			}
		}
	}
	return v
}

// same is equality of bits, but for NaN, which equals every NaN.
func same[T Number](a, b T) bool {
	if isFloat[T]() {
		x, y := float64(a), float64(b)
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	}
	return a == b
}

// run runs one instance of a generic test under the name of its type.
func run[T any](t *testing.T, f func(t *testing.T)) {
	t.Run(fmt.Sprintf("%T", *new(T)), f)
}
