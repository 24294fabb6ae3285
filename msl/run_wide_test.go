//go:build linux && (amd64 || arm64) && !noemulator

package msl_test

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/msl"
)

// wideDevice opens the emulator's profile that has what CUDA has, and says how its pipelines are made.
func wideDevice(t *testing.T) (gpu.Device, func(msl.Key) gpu.Pipeline) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs kernels on a GPU or the emulator, which -short leaves out")
	}
	devices, err := emulator.OpenWide()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := devices[0].Close(); err != nil {
			t.Error(err)
		}
	})
	pipes := map[msl.Key]gpu.Pipeline{}
	return devices[0], func(k msl.Key) gpu.Pipeline {
		if pipes[k] == nil {
			name, text, err := msl.Text(k)
			if err != nil {
				t.Fatal(err)
			}
			if pipes[k], err = devices[0].Compile(gpu.Source{Name: name, Text: text}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pipes[k].Release)
		}
		return pipes[k]
	}
}

// TestRunExactNative sums floats by slices: values of one size, of any, those that move the slices up and down, and those
// that the slices do not take.
func TestRunExactNative(t *testing.T) {
	d, pipe := wideDevice(t)
	r := rand.New(rand.NewPCG(5, 6))
	random := func(n, low, high int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = math.Ldexp(r.Float64()-0.5, low+r.IntN(high-low))
		}
		return list
	}
	big, tiny := math.MaxFloat64, math.SmallestNonzeroFloat64
	const long = msl.Threads*40 + 77 // some batches a thread
	cases := map[string][]float64{
		"none":             {},
		"cancellation":     {1e300, 1, -1e300, 1e-300},
		"overflow":         {big, big},
		"and back":         {big, big, -big, tiny},
		"subnormals":       {tiny, tiny, 0x0.fffffffffffffp-1022},
		"infinities":       {math.Inf(1), math.Inf(-1), 1},
		"NaN":              append(random(3000, -5, 5), math.NaN()),
		"one size":         random(long, 0, 1),
		"40 binades":       random(long, -20, 20),
		"all binades":      random(long, -1070, 1020),
		"growing":          slices.Sorted(slices.Values(random(long, -600, 600))),
		"an outlier first": append([]float64{1e300}, random(long, 0, 3)...),
		"near the largest": random(long, 1000, 1024),
		"all subnormal":    random(long, -1074, -1060),
		"same sign, full":  slices.Repeat([]float64{-0x1.fffffffffffffp100}, long),
	}
	for name, list := range cases {
		for _, typ := range []msl.Type{msl.F64, msl.F32} {
			t.Run(name+"/"+typ.String(), func(t *testing.T) {
				values := make([]uint64, len(list))
				for i, f := range list {
					if values[i] = math.Float64bits(f); typ == msl.F32 {
						values[i] = uint64(math.Float32bits(float32(f)))
					}
				}
				for turn, share := range []float64{-1, 0.7} {
					c := newColumn(typ, values, nil, offsets[turn+1], offsets[turn+2])
					if share >= 0 {
						c = newColumn(typ, values, randomBools(r, len(values), share), offsets[turn+1], offsets[turn+2])
					}
					checkExactNative(t, d, pipe, c, turn)
				}
			})
		}
	}
}

func checkExactNative(t *testing.T, d gpu.Device, pipe func(msl.Key) gpu.Pipeline, c *column, turn int) {
	t.Helper()
	k := msl.Key{Skeleton: msl.ReduceExact, Op: msl.OpSum, In: c.typ, Caps: msl.Float64}
	n := len(c.values)
	a := newArgs(t, d, msl.ReduceBindings)
	a.in(msl.ReduceIn, c.data)
	if c.valid != nil {
		k.Flags |= msl.ANulls
		a.in(msl.ReduceValid, c.bits)
	}
	if turn == 1 {
		k.Flags |= msl.Pending
		a.in(msl.ReduceLen, binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	a.out(msl.ReducePartials, 2*8*msl.StateWords(k))
	clear(a.bytes(msl.ReducePartials))
	a.params(msl.ReduceArgs, msl.ReduceParams{N: uint64(n + 100*turn), Off: uint64(c.off), Valid: uint64(c.voff), Groups: 2, First: 1})
	launchOn(t, d, pipe(k), 3, a)

	state := a.bytes(msl.ReducePartials)[8*msl.StateWords(k):]
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(state[8*i:])) }
	var want [msl.ExactDigit0]int64
	sum := new(big.Float).SetPrec(4096)
	for i, v := range c.values {
		want[msl.StateRows]++
		if !c.isValid(i) {
			continue
		}
		want[msl.StateValid]++
		switch f := real(c.typ, v); {
		case math.IsNaN(f):
			want[msl.ExactNaN]++
		case math.IsInf(f, 1):
			want[msl.ExactPosInf]++
		case math.IsInf(f, -1):
			want[msl.ExactNegInf]++
		default:
			sum.Add(sum, new(big.Float).SetFloat64(f))
		}
	}
	for i, w := range want {
		if got := word(i); got != w {
			t.Fatalf("word %d of the state is %d, want %d", i, got, w)
		}
	}
	got := new(big.Int)
	for i := range msl.ExactDigits {
		digit := big.NewInt(word(msl.ExactDigit0 + i))
		got.Add(got, digit.Lsh(digit, uint(16*i)))
	}
	exact, _ := new(big.Float).SetMantExp(sum, 1074).Int(nil)
	if got.Cmp(exact) != 0 {
		t.Fatalf("the sum is %x * 2^-1074, want %x", got, exact)
	}
}
