package msl_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// TestRunMap runs the element-wise ops that have a reference on every type against their meaning in Go. Variants of flags, lengths, offsets
// and scalars take turns; one op of each kind sees every variant.
func TestRunMap(t *testing.T) {
	d := device(t)
	turn := 0
	for _, k := range append(mapKeys(), unusedKeys()...) {
		ref := references[k.Op]
		if ref == nil {
			continue // computetest runs every function; here are those that show all a Map can do
		}
		var variants []msl.Key
		for _, v := range msl.Keys(k) {
			if v.Skeleton == msl.Map && v.Caps == 0 {
				variants = append(variants, v)
			}
		}
		turn++
		if !thorough[k.Op] || k.In != msl.I64 && k.In != msl.Bool {
			variants = variants[turn%len(variants):][:1]
		}
		for i, v := range variants {
			name, _, _ := msl.Text(v)
			t.Run(name, func(t *testing.T) {
				list := lengths
				if msl.HasErr(v) {
					list = append(list, 40, 40, 41, 41, 42, 42, 43, 43, 44, 44)
				}
				for j, n := range list {
					testMap(t, d, v, ref, n, turn+i+j)
				}
			})
		}
	}
}

// thorough are the ops that are run in every variant.
var thorough = map[string]bool{"add": true, "add_unchecked": true, "less": true, "and_kleene": true, "test_is_valid": true}

func testMap(t *testing.T, d gpu.Device, k msl.Key, ref func(row) answer, n, turn int) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(turn), uint64(n)))
	rows := n // the worst case
	if k.Flags&msl.Pending != 0 {
		rows = n + []int{0, 1, 40, 2100}[turn%4]
	}
	a, b := mapInputs(r, k, rows, turn)
	scalarA, scalarB := turn%5 == 1, turn%5 == 3
	args := newArgs(t, d, msl.MapBindings)
	p := msl.MapParams{N: uint64(rows), AStride: 1, BStride: 1}
	p.AOff, p.AValid = uint64(a.off), uint64(a.voff)
	p.BOff, p.BValid = uint64(b.off), uint64(b.voff)
	if scalarA {
		p.AStride = 0
	}
	if scalarB {
		p.BStride = 0
	}
	args.in(msl.MapA, a.data)
	args.in(msl.MapB, b.data)
	args.in(msl.MapAValid, a.bits)
	args.in(msl.MapBValid, b.bits)
	args.in(msl.MapLen, binary.LittleEndian.AppendUint64(nil, uint64(n)))
	args.in(msl.MapErr, nil)
	args.out(msl.MapOut, outBytes(k.Out, rows))
	if msl.HasOutValid(k) {
		args.out(msl.MapOutValid, outBytes(msl.Bool, rows))
	}
	args.params(msl.MapArgs, p)
	launch(t, d, k, msl.Groups(k, uint64(rows)), args)

	values := unpack(t, k.Out, args.bytes(msl.MapOut), rows)
	var valid []uint64
	if msl.HasOutValid(k) {
		valid = unpack(t, msl.Bool, args.bytes(msl.MapOutValid), rows)
	}
	var bad uint32
	for i := range rows {
		if i >= n {
			if values[i] != 0 || valid != nil && valid[i] != 0 {
				t.Fatalf("row %d of %d in %d is not zero", i, n, rows)
			}
			continue
		}
		ia, ib := i, i
		if scalarA {
			ia = 0
		}
		if scalarB {
			ib = 0
		}
		in := row{k.In, a.values[ia], b.values[ib], a.isValid(ia), b.isValid(ib)}
		want := ref(in)
		if want.valid {
			bad |= want.bad
		}
		if valid != nil && (valid[i] != 0) != want.valid {
			t.Fatalf("row %d of %d: %+v: valid is %v", i, n, in, valid[i])
		}
		if want.valid && want.bad == 0 && !same(k.Out, values[i], want.value) {
			t.Fatalf("row %d of %d: %+v gives %#x, want %#x", i, n, in, values[i], want.value)
		}
	}
	if got := binary.LittleEndian.Uint32(args.list[msl.MapErr].Buf.Host()); got != bad {
		t.Fatalf("%d rows: error bits %#x, want %#x", n, got, bad)
	}
}

// mapInputs pairs every edge value with every other, then random ones.
func mapInputs(r *rand.Rand, k msl.Key, n, turn int) (a, b *column) {
	e := edges(k.In)
	mask := ^uint64(0) >> (64 - elementBits(k.In))
	va, vb := make([]uint64, n), make([]uint64, n)
	start := r.IntN(len(e) * len(e))
	for i := range n {
		va[i], vb[i] = e[(start+i)%len(e)], e[(start+i)/len(e)%len(e)]
		if i >= len(e)*len(e) {
			va[i], vb[i] = r.Uint64()&mask, r.Uint64()&mask
		}
	}
	tame(r, k, va, vb)
	var na, nb []bool
	if k.Flags&msl.ANulls != 0 {
		na = randomBools(r, n, []float64{0.7, 1, 0}[turn%3])
	}
	if k.Flags&msl.BNulls != 0 {
		nb = randomBools(r, n, 0.8)
	}
	if na != nil && turn%4 == 2 {
		for i := range n {
			na[i] = references[k.Op](row{k.In, va[i], vb[i], true, true}).bad == 0
		}
	}
	o := func(shift int) int { return offsets[(turn+shift)%len(offsets)] }
	return newColumn(k.In, va, na, o(0), o(2)), newColumn(k.In, vb, nb, o(3), o(5))
}

// tame leaves all failing rows of an op, or one of them, or none: the error word is the disjunction of all rows, so
// only a single failing row shows that it is seen.
func tame(r *rand.Rand, k msl.Key, a, b []uint64) {
	var failing []int
	for i := range a {
		if references[k.Op](row{k.In, a[i], b[i], true, true}).bad != 0 {
			failing = append(failing, i)
		}
	}
	keep := r.IntN(3)
	if keep == 2 || len(failing) == 0 {
		return
	}
	one := failing[r.IntN(len(failing))]
	safe := edges(k.In)
	for references[k.Op](row{k.In, safe[0], safe[0], true, true}).bad != 0 {
		safe = safe[1:]
	}
	for _, i := range failing {
		if keep == 0 || i != one {
			a[i], b[i] = safe[0], safe[0]
		}
	}
}
