package msl_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// TestRunMember looks columns of every type up in sets of every size, NaNs of all patterns among them.
func TestRunMember(t *testing.T) {
	d := device(t)
	for _, typ := range []msl.Type{msl.U8, msl.U16, msl.U32, msl.U64, msl.F32, msl.F64} {
		for _, f := range []msl.Flags{0, msl.ANulls, msl.ANulls | msl.EmitNull, msl.EmitNull | msl.Pending, msl.ANulls | msl.Pending | msl.EmitNull} {
			k := msl.Key{Skeleton: msl.Member, In: typ, Flags: f}
			name, _, err := msl.Text(k)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) {
				for i, n := range append([]int{msl.MapRows*2 + 45}, lengths...) {
					if n > 5000 {
						continue
					}
					testMember(t, d, k, n, []int{0, 1, 2, 3, 64, 200, msl.MaxSet}[i%7], i)
				}
			})
		}
	}
}

// onePattern makes every NaN the same.
func onePattern(typ msl.Type, v uint64) uint64 {
	switch {
	case typ == msl.F32 && math.IsNaN(float64(math.Float32frombits(uint32(v)))):
		return uint64(msl.OneNaN32)
	case typ == msl.F64 && math.IsNaN(math.Float64frombits(v)):
		return msl.OneNaN64
	}
	return v
}

func testMember(t *testing.T, d gpu.Device, k msl.Key, n, size, turn int) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(turn)))
	bits := 8 * width(k.In)
	pattern := func() uint64 {
		v := r.Uint64() >> (64 - bits)
		if r.IntN(4) == 0 && k.In == msl.F32 {
			v |= 0x7f800000
		} else if r.IntN(4) == 0 && k.In == msl.F64 {
			v |= 0x7ff << 52
		}
		return v
	}
	var set []uint64
	for range size {
		set = append(set, onePattern(k.In, pattern()))
	}
	slices.Sort(set)
	set = slices.Compact(set)
	p := msl.MemberParams{NullFound: uint32(r.IntN(2)), OnlyFound: uint32(r.IntN(2)), Stride: 1}
	if len(set) > 0 {
		p.Size = 1
		for int(p.Size) < len(set) {
			p.Size *= 2
		}
		for i := range p.Size {
			p.Set[i] = set[min(int(i), len(set)-1)]
		}
	}
	rows := n
	if k.Flags&msl.Pending != 0 {
		rows += []int{0, 3, 50, 1000}[turn%4]
	}
	values := make([]uint64, rows)
	for i := range values {
		if values[i] = pattern(); len(set) > 0 && r.IntN(2) == 0 {
			values[i] = set[r.IntN(len(set))]
		}
	}
	var valid []bool
	if k.Flags&msl.ANulls != 0 {
		valid = randomBools(r, rows, 0.7)
	}
	col := newColumn(k.In, values, valid, offsets[turn%len(offsets)], offsets[(turn/2+3)%len(offsets)])
	a := newArgs(t, d, msl.MemberBindings)
	a.in(msl.MemberIn, col.data)
	if k.Flags&msl.ANulls != 0 {
		a.in(msl.MemberValid, col.bits)
	}
	words := (rows + 31) / 32 * 4
	a.out(msl.MemberOut, words)
	if k.Flags&msl.EmitNull != 0 {
		a.out(msl.MemberOutValid, words)
	}
	if k.Flags&msl.Pending != 0 {
		a.in(msl.MemberLen, []byte{byte(n), byte(n >> 8), byte(n >> 16), 0, 0, 0, 0, 0})
	}
	p.N, p.Off, p.Valid = uint64(rows), uint64(col.off), uint64(col.voff)
	a.params(msl.MemberArgs, p)
	launch(t, d, k, msl.Groups(k, uint64(rows)), a)
	out := a.words(msl.MemberOut)
	var outValid []uint32
	if k.Flags&msl.EmitNull != 0 {
		outValid = a.words(msl.MemberOutValid)
	}
	for i := range 32 * len(out) {
		var in, ok bool
		if i < n {
			_, in = slices.BinarySearch(set, onePattern(k.In, values[i]))
			in = in && col.isValid(i)
			ok = col.isValid(i) && (in || p.OnlyFound == 0)
			in = in || !col.isValid(i) && p.NullFound != 0
		}
		if got := out[i/32]>>(i%32)&1 != 0; got != in {
			t.Fatalf("%d rows, set of %d: row %d (%#x): %v, want %v", n, len(set), i, values[min(i, rows-1)], got, in)
		}
		if outValid != nil {
			if got := outValid[i/32]>>(i%32)&1 != 0; got != ok {
				t.Fatalf("%d rows, set of %d: validity of row %d: %v, want %v", n, len(set), i, got, ok)
			}
		}
	}
}
