package cpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// bigSum is the reference: every float64 and any sum of a few million of them
// fits 2,300 bits exactly.
func bigSum(values []float64, valid Bitmap) float64 {
	sum := new(big.Float).SetPrec(2300)
	nan, pos, neg := false, false, false
	for i, v := range values {
		switch {
		case !valid.Bit(i):
		case v != v:
			nan = true
		case math.IsInf(v, 0):
			pos, neg = pos || v > 0, neg || v < 0
		default:
			sum.Add(sum, new(big.Float).SetFloat64(v))
		}
	}
	switch {
	case nan || pos && neg:
		return math.NaN()
	case pos:
		return math.Inf(1)
	case neg:
		return math.Inf(-1)
	case sum.Sign() == 0:
		return 0
	}
	f, _ := sum.Float64()
	return f
}

func exactSum(values []float64, valid Bitmap) float64 {
	var e Exact
	e.AddFloat64s(values, valid)
	return e.Round()
}

// adversarial is a few values whose naive sum depends on their order.
var adversarial = []float64{
	1e308, 1e308, -1e308, -1e308, 1, 1e-300, -1, 0x1p-1074, 0x1p-1073, -0x1p-1022, 0x1p-1022,
	1e16, 1, -1e16, 0x1p53, 0x1p-1, -0x1p53, 3.14, math.Copysign(0, -1), math.MaxFloat64, -math.MaxFloat64, 0x1.fffffffffffffp+52,
}

// distributions give sums of different difficulty.
var distributions = []struct {
	name string
	next func(r *rand.Rand) float64
}{
	{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"zeros", func(r *rand.Rand) float64 { return float64(r.IntN(2)) * r.Float64() }},
	{"integers", func(r *rand.Rand) float64 { return float64(r.IntN(2000) - 1000) }},
	{"wide", func(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(200)-100) }},
	{"any", func(r *rand.Rand) float64 {
		for {
			if v := math.Float64frombits(r.Uint64()); v-v == 0 {
				return v
			}
		}
	}},
	{"subnormal", func(r *rand.Rand) float64 {
		return math.Copysign(math.Float64frombits(r.Uint64()>>(11+r.IntN(50))), r.NormFloat64())
	}},
	{"edge", func(r *rand.Rand) float64 {
		return math.Ldexp(math.Copysign(1+float64(r.IntN(2))*0x1p-52, r.NormFloat64()), r.IntN(130)-65)
	}},
	{"huge", func(r *rand.Rand) float64 { return math.Copysign(math.MaxFloat64, r.NormFloat64()) }},
	{"special", func(r *rand.Rand) float64 { return randomValues[float64](r, 1)[0] }},
}

func TestExactAgainstBig(t *testing.T) {
	r := newRand(11)
	for _, d := range distributions {
		t.Run(d.name, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 3, 5, 63, 64, 65, 500, 1024, 1025, 3000} {
				values := make([]float64, n)
				for i := range values {
					values[i] = d.next(r)
				}
				for _, valid := range []Bitmap{{}, randomBitmap(r, n, 0, 0), randomBitmap(r, n, 7, 0.3), randomBitmap(r, n, 33, 0.9), randomBitmap(r, n, 64, 1)} {
					want := bigSum(values, valid)
					if got := exactSum(values, valid); !same(got, want) {
						t.Fatalf("n=%d off=%d: %x, want %x", n, valid.Off, got, want)
					}
				}
				if n > 500 {
					continue
				}
				// Opposite values cancel to the last bit.
				both := slices.Clone(values)
				for _, v := range values {
					both = append(both, -v)
				}
				both = append(both, 0x1p-1074)
				if got, want := exactSum(both, Bitmap{}), bigSum(both, Bitmap{}); !same(got, want) {
					t.Fatalf("n=%d, cancelling: %x, want %x", n, got, want)
				}
			}
		})
	}
}

func TestExactRounding(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	const largest = math.MaxFloat64
	cases := []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{math.Copysign(0, -1)}, 0},
		{[]float64{1, -1}, 0},
		{[]float64{1, 0x1p-53}, 1},                                  // tie to even
		{[]float64{1 + 0x1p-52, 0x1p-53}, 1 + 0x1p-51},              // tie to even, upwards
		{[]float64{1, 0x1p-53, 0x1p-1074}, 1 + 0x1p-52},             // just above the tie
		{[]float64{-1, -0x1p-53, -0x1p-1074}, -1 - 0x1p-52},         //
		{[]float64{1, 0x1p-53, -0x1p-1074}, 1},                      // just below
		{[]float64{0x1p-1074, 0x1p-1074}, 0x1p-1073},                // subnormals add exactly
		{[]float64{0x1p-1022, -0x1p-1074}, 0x0.fffffffffffffp-1022}, // into the subnormals
		{[]float64{0x0.fffffffffffffp-1022, 0x1p-1074}, 0x1p-1022},
		{[]float64{largest, 0x1p969}, largest},             // below half a unit
		{[]float64{largest, 0x1p970}, inf},                 // the tie goes to 2^1024
		{[]float64{largest, 0x1p970, -0x1p-1074}, largest}, // just below it
		{[]float64{-largest, -0x1p970}, -inf},
		{[]float64{largest, largest, -largest}, largest}, // no overflow on the way
		{[]float64{inf, -largest}, inf},
		{[]float64{1, -inf}, -inf},
		{[]float64{inf, -inf}, nan},
		{[]float64{nan, 1}, nan},
		{[]float64{nan, inf}, nan},
		{[]float64{0x1p1023, 0x1p1023, -0x1p1023, -0x1p1023, 0x1p-1074}, 0x1p-1074},
	}
	for _, c := range cases {
		if got := exactSum(c.values, Bitmap{}); !same(got, c.want) {
			t.Errorf("sum(%v) = %x, want %x", c.values, got, c.want)
		}
		var one Exact
		for _, v := range c.values {
			one.Add(v)
		}
		if got := one.Round(); !same(got, c.want) {
			t.Errorf("one by one, sum(%v) = %x, want %x", c.values, got, c.want)
		}
	}
}

// TestExactTies walks a tie and a small change of it over every position within
// a chunk of the leading bit and every distance below it.
func TestExactTies(t *testing.T) {
	for high := -1021; high < 1023; high += 5 {
		one, half := math.Ldexp(1, high), math.Ldexp(1, high-53)
		if half == 0 {
			continue
		}
		up := math.Nextafter(one, math.Inf(1))
		for below := 54; below < 180 && math.Ldexp(1, high-below) != 0; below++ {
			tiny := math.Ldexp(1, high-below)
			for _, c := range []struct{ tiny, want float64 }{{0, one}, {tiny, up}, {-tiny, one}} {
				var e Exact
				e.AddFloat64s([]float64{-one, -half, -c.tiny}, Bitmap{})
				if got := e.Round(); got != -c.want {
					t.Fatalf("-(2^%d + 2^%d + %x) = %x, want %x", high, high-53, c.tiny, got, -c.want)
				}
			}
		}
	}
}

// TestExactGrowth fills a window to its limits: later values lie as far above
// the first as still fits it.
func TestExactGrowth(t *testing.T) {
	const first, later = 1.0, 0x1.fffffffffffffp+8
	values := make([]float64, 1<<17)
	for i := range values {
		values[i] = first
		if i >= windowRows {
			values[i] = later
		}
	}
	want := bigSum(values, Bitmap{})
	if got := exactSum(values, Bitmap{}); got != want {
		t.Fatalf("%x, want %x", got, want)
	}
}

func TestExactOrder(t *testing.T) {
	r := newRand(12)
	want := bigSum(adversarial, Bitmap{})
	values := slices.Clone(adversarial)
	for range 1000 {
		r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		if got := exactSum(values, Bitmap{}); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("sum(%v) = %x, want %x", values, got, want)
		}
		// The same values in parts, merged in a random order.
		parts := make([]Exact, 1+r.IntN(6))
		for _, v := range values {
			parts[r.IntN(len(parts))].AddFloat64s([]float64{v}, Bitmap{})
		}
		for len(parts) > 1 {
			i := r.IntN(len(parts) - 1)
			parts[i].Merge(&parts[len(parts)-1])
			parts = parts[:len(parts)-1]
		}
		if got := parts[0].Round(); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("merged sum(%v) = %x, want %x", values, got, want)
		}
	}
	for _, d := range distributions[:6] {
		values := make([]float64, 1<<16)
		for i := range values {
			values[i] = d.next(r)
		}
		want := bigSum(values, Bitmap{})
		for range 3 {
			r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			if got := exactSum(values, Bitmap{}); math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s: %x, want %x", d.name, got, want)
			}
		}
	}
}

// TestExactCarries makes the chunks carry as after 2^30 additions.
func TestExactCarries(t *testing.T) {
	r := newRand(13)
	for range 50 {
		values := make([]float64, 200)
		for i := range values {
			values[i] = distributions[4].next(r)
		}
		var e Exact
		for i := 0; i < len(values); i += 10 {
			e.pending = max(e.pending, exactPending-r.IntN(8))
			e.AddFloat64s(values[i:i+5], Bitmap{})
			if e.pending >= exactPending {
				t.Fatalf("%d additions are pending", e.pending)
			}
			part := Exact{pending: exactPending - 20}
			part.AddFloat64s(values[i+5:i+10], Bitmap{})
			e.Merge(&part)
			if e.pending > exactPending {
				t.Fatalf("%d additions are pending", e.pending)
			}
		}
		if got, want := e.Round(), bigSum(values, Bitmap{}); !same(got, want) {
			t.Fatalf("%x, want %x", got, want)
		}
		if a, b := e.Round(), e.Round(); a != b {
			t.Fatal("Round changes the sum")
		}
	}
	// Full chunks: the largest pieces, as many as may be pending.
	var e Exact
	e.Add(math.MaxFloat64)
	for range 29 {
		e.Merge(&e)
	}
	e.Add(-math.MaxFloat64)
	for range 29 {
		other := Exact{}
		other.Add(-math.MaxFloat64)
		e.Merge(&other)
	}
	want := new(big.Float).SetPrec(200).SetFloat64(math.MaxFloat64)
	want.Mul(want, big.NewFloat(1<<29-30))
	wantF, _ := want.Float64()
	if got := e.Round(); got != wantF {
		t.Fatalf("%x, want %x", got, wantF)
	}
}

func TestExactFloat32(t *testing.T) {
	r := newRand(14)
	for _, n := range []int{0, 1, 64, 1025, 5000} {
		values, wide := make([]float32, n), make([]float64, n)
		for i := range values {
			for values[i] = math.Float32frombits(r.Uint32()); values[i]-values[i] != 0; {
				values[i] = math.Float32frombits(r.Uint32())
			}
			wide[i] = float64(values[i])
		}
		valid := randomBitmap(r, n, 31, 0.3)
		var e Exact
		e.AddFloat32s(values, valid)
		if got, want := e.Round(), bigSum(wide, valid); !same(got, want) {
			t.Fatalf("n=%d: %x, want %x", n, got, want)
		}
	}
}

func TestExactAllocates(t *testing.T) {
	r := newRand(15)
	values := make([]float64, 5000)
	for i := range values {
		values[i] = r.NormFloat64()
	}
	valid := randomBitmap(r, len(values), 3, 0.3)
	var e Exact
	if n := testing.AllocsPerRun(10, func() {
		e.AddFloat64s(values, valid)
		e.Merge(&e)
		_ = e.Round()
		_ = SumInt128([]int64{1, 2}, Bitmap{})
		_ = MinMax(values, valid)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func FuzzExact(f *testing.F) {
	seed := func(values ...float64) {
		var b []byte
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		f.Add(b, uint8(1))
	}
	seed()
	seed(adversarial...)
	seed(math.MaxFloat64, 0x1p970, -0x1p-1074)
	seed(math.Inf(1), math.Inf(-1))
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		values := make([]float64, len(b)/8)
		for i := range values {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		want := bigSum(values, Bitmap{})
		if got := exactSum(values, Bitmap{}); !same(got, want) {
			t.Fatalf("sum(%s) = %x, want %x", fmt.Sprint(values), got, want)
		}
		at := min(int(cut), len(values))
		var head, tail Exact
		head.AddFloat64s(values[:at], Bitmap{})
		for _, v := range values[at:] {
			tail.Add(v)
		}
		tail.Merge(&head)
		if got := tail.Round(); !same(got, want) {
			t.Fatalf("merged sum(%s) = %x, want %x", fmt.Sprint(values), got, want)
		}
	})
}

// TestExactPermutations sums 2^20 hard values, which cancel, lie far apart and
// reach below the normal numbers, in a thousand orders of all values.
func TestExactPermutations(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 20
	}
	r := newRand(21)
	values := make([]float64, 1<<20)
	for i := range values {
		switch k := i % 8; {
		case k < 3: // most blocks go the fast way
			values[i] = r.NormFloat64()
		case k == 3 && i%(1<<16) == 3:
			values[i] = math.Ldexp(r.Float64()-0.5, r.IntN(2000)-1000)
		case k == 4 && i%(1<<17) == 4:
			values[i] = math.Float64frombits(r.Uint64N(1 << 52))
		case k == 5: // cancels an earlier value
			values[i] = -values[r.IntN(i)]
		default:
			values[i] = float64(r.Int64N(1 << 20))
		}
	}
	want := math.Float64bits(bigSum(values, Bitmap{}))
	other := make([]float64, len(values))
	for round := range rounds {
		if got := math.Float64bits(exactSum(values, Bitmap{})); got != want {
			t.Fatalf("order %d: %x, want %x", round, got, want)
		}
		shuffle(other, values, r)
		values, other = other, values
	}
}

// shuffle puts 2^20 values in an order that steps which can be undone, with random numbers in them, make of their places:
// a tenth of the time that as many random numbers take.
func shuffle(dst, src []float64, r *rand.Rand) {
	const mask = 1<<20 - 1
	var odd, plus [3]uint32
	for k := range odd {
		odd[k], plus[k] = r.Uint32()|1, r.Uint32()
	}
	for i, v := range src[:mask+1] {
		at := uint32(i)
		for k := range odd {
			at = (at*odd[k] + plus[k]) & mask
			at ^= at >> 9
		}
		dst[at] = v
	}
}

// The steps of shuffle lose no place.
func TestShuffle(t *testing.T) {
	src, dst := make([]float64, 1<<20), make([]float64, 1<<20)
	for i := range src {
		src[i] = float64(i)
	}
	shuffle(dst, src, newRand(3))
	stayed := 0
	for i, v := range dst {
		if v == float64(i) {
			stayed++
		}
	}
	if stayed > 100 {
		t.Errorf("%d values stayed where they were", stayed)
	}
	slices.Sort(dst)
	if !slices.Equal(dst, src) {
		t.Error("values were lost")
	}
}
