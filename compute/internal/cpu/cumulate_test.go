package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCumulateInts compares with a plain loop, with one worker and with several that wait for each other's blocks.
func TestCumulateInts(t *testing.T) {
	cumulateLike[int8](t)
	cumulateLike[int32](t)
	cumulateLike[int64](t)
	cumulateLike[uint16](t)
	cumulateLike[uint32](t)
	cumulateLike[uint64](t)
}

func cumulateLike[T Integer](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 63, 64, 65, 1000, 5*cumulateRows + 77} {
		for turn := range 6 {
			in, bits := make([]T, n), make([]byte, n/8+2)
			for i := range in {
				if in[i] = T(r.IntN(2)); turn%2 == 0 {
					in[i] = T(r.Uint64())
				}
			}
			for i := range bits {
				bits[i] = byte(r.Uint32()|r.Uint32()>>8) | byte(turn/2*0xff)
			}
			valid := Bitmap{Data: bits, Off: 5}
			if turn == 5 {
				valid = Bitmap{}
			}
			want, sum, fits := make([]T, n), T(3), true
			for i, v := range in {
				if valid.Bit(i) {
					s := sum + v
					fits = fits && (v >= 0) == (s >= sum)
					sum = s
				}
				want[i] = sum
			}
			for _, workers := range []int{1, 4} {
				out := make([]T, n)
				last, st := CumulateInts(out, in, valid, 3, workers)
				require.Equal(t, sum, last)
				require.Equal(t, want, out)
				require.Equal(t, !fits, st == Overflow, "%d rows, turn %d", n, turn)
			}
		}
	}
}

func TestFirstNull(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 200} {
		for null := range n + 1 {
			bits := make([]byte, 40)
			for i := range bits {
				bits[i] = 0xff
			}
			bits[(null+3)/8] &^= 1 << ((null + 3) % 8)
			require.Equal(t, null, FirstNull(Bitmap{Data: bits, Off: 3}, n))
		}
	}
	require.Equal(t, 7, FirstNull(Bitmap{}, 7))
}

func BenchmarkCumulate(b *testing.B) {
	const n = 10_000_000
	ints, floats := make([]int64, n), make([]float64, n)
	for i := range ints {
		ints[i], floats[i] = int64(i%1000), float64(i%1000)
	}
	out, outF := make([]int64, n), make([]float64, n)
	for _, workers := range []int{1, 2} {
		b.Run(map[int]string{1: "int64/workers=1", 2: "int64/workers=2"}[workers], func(b *testing.B) {
			b.SetBytes(16 * n)
			for b.Loop() {
				CumulateInts(out, ints, Bitmap{}, 0, workers)
			}
		})
	}
	b.Run("float64", func(b *testing.B) {
		b.SetBytes(16 * n)
		for b.Loop() {
			CumulateFloats(outF, floats, Bitmap{}, 0)
		}
	})
}

// Nulls change no sum, not even the sign of a zero; NaN stays.
func TestCumulateFloats(t *testing.T) {
	cumulateFloatsLike[float32](t)
	cumulateFloatsLike[float64](t)
}

func cumulateFloatsLike[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 63, 64, 65, 1000} {
		for _, special := range []float64{math.NaN(), math.Inf(1), math.Copysign(0, -1), 1e30} {
			in := make([]T, n)
			for i := range in {
				if in[i] = T(r.NormFloat64()); r.IntN(3) == 0 {
					in[i] = T(special)
				}
			}
			for _, valid := range []Bitmap{{}, randomBitmap(newRand(7), n, 3, 0.3), randomBitmap(newRand(8), n, 0, 1)} {
				for _, start := range []T{T(math.Copysign(0, -1)), 0, 5} {
					out, sum := make([]T, n), start
					last := CumulateFloats(out, in, valid, start)
					for i, v := range in {
						if valid.Bit(i) {
							sum += v
						}
						if !same(out[i], sum) {
							t.Fatalf("%d rows, %v: row %d is %v, want %v", n, special, i, out[i], sum)
						}
					}
					if !same(last, sum) {
						t.Fatalf("%d rows: the last is %v, want %v", n, last, sum)
					}
				}
			}
		}
	}
}
