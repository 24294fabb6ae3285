package msl_test

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// TestRunReduce runs every aggregate over every type: two columns, of different variants, into the states of several
// threadgroups, then all states into the result.
func TestRunReduce(t *testing.T) {
	d := device(t)
	turn := 0
	for _, finish := range msl.Keys() {
		if finish.Skeleton != msl.Finish || finish.Caps != 0 {
			continue
		}
		types := []msl.Type{finish.In}
		if finish.In == msl.NoType {
			types = []msl.Type{msl.I64} // what is counted is not read
		}
		name, _, _ := msl.Text(finish)
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{0, 1, 33, 1025, 2*msl.Tile + 77} {
				for range 3 {
					turn++
					r := rand.New(rand.NewPCG(uint64(turn), 5))
					share := []float64{0.7, 1, 0, 0.02}[turn%4]
					testReduce(t, d, finish, randomColumn(r, types[0], n, share, turn), randomColumn(r, types[0], n/3, -1, turn+2), turn)
				}
			}
		})
	}
}

// randomColumn mixes edge values and random ones; a negative share of valid rows means no nulls.
func randomColumn(r *rand.Rand, typ msl.Type, n int, share float64, turn int) *column {
	values := make([]uint64, n)
	e := edges(typ)
	for i := range values {
		values[i] = e[r.IntN(len(e))]
		if typ != msl.Bool && r.IntN(3) != 0 {
			values[i] = r.Uint64() >> (64 - bitsOf(typ))
		}
	}
	// All kinds of float columns: with specials, finite only, and one of NaNs.
	for i, v := range values {
		switch f := real(typ, v); {
		case !isFloat(typ):
		case turn%7 == 0:
			values[i] = edgeNaN(typ)
		case turn%3 != 0 && (math.IsNaN(f) || math.IsInf(f, 0)):
			values[i] = 0
		case turn%5 == 1 && math.IsInf(f, -1):
			values[i] = 0
		}
	}
	var valid []bool
	if share >= 0 {
		valid = randomBools(r, n, share)
	}
	return newColumn(typ, values, valid, offsets[turn%len(offsets)], offsets[(turn/2+1)%len(offsets)])
}

func edgeNaN(t msl.Type) uint64 {
	if t == msl.F32 {
		return 0xffc00000
	}
	return math.Float64bits(math.NaN())
}

func testReduce(t *testing.T, d gpu.Device, finish msl.Key, a, b *column, turn int) {
	t.Helper()
	k, err := msl.StateKey(finish)
	if err != nil {
		t.Fatal(err)
	}
	// The groups of the first column, then those of the second.
	groupsA := min(msl.Groups(k, uint64(len(a.values))), uint64(1+turn%3))
	states := newArgs(t, d, 1)
	words := msl.StateWords(k)
	states.out(0, int(groupsA+1)*words*8)
	partials := states.list[0]
	reduce(t, d, k, a, partials, groupsA, 0, turn%2 == 1)
	reduce(t, d, k, b, partials, 1, groupsA, turn%3 == 1)
	if k.Skeleton == msl.Reduce {
		testAggregate(t, d, finish, a, turn)
	}
	states.bytes(0)

	p := msl.FinishParams{States: uint32(groupsA + 1), MinCount: uint32(turn % 3), SkipNulls: uint32(turn / 3 % 2)}
	want, max, valid := aggregate(finish, p, a, b)
	args := newArgs(t, d, msl.FinishBindings)
	args.list[msl.FinishPartials] = partials
	args.out(msl.FinishOut, outBytes(finish.Out, 1))
	args.out(msl.FinishOutValid, 4)
	args.out(msl.FinishOut2, outBytes(finish.Out, 1))
	args.params(msl.FinishArgs, p)
	launch(t, d, finish, 1, args)
	got := unpack(t, finish.Out, args.bytes(msl.FinishOut), 1)[0]
	if ok := args.words(msl.FinishOutValid)[0]; ok != uint32(truth(valid)) {
		t.Fatalf("%+v: valid is %d, want %v", p, ok, valid)
	}
	if valid && !same(finish.Out, got, want) {
		t.Fatalf("%d and %d rows, %+v: %#x, want %#x", len(a.values), len(b.values), p, got, want)
	}
	if valid && finish.Op == "min_max" {
		if got := unpack(t, finish.Out, args.bytes(msl.FinishOut2), 1)[0]; !same(finish.Out, got, max) {
			t.Fatalf("%d and %d rows, %+v: maximum %#x, want %#x", len(a.values), len(b.values), p, got, max)
		}
	}
}

// testAggregate has one threadgroup do all for one column.
func testAggregate(t *testing.T, d gpu.Device, k msl.Key, c *column, turn int) {
	t.Helper()
	p := msl.AggregateParams{N: uint64(len(c.values)), Off: uint64(c.off), Valid: uint64(c.voff), MinCount: uint32(turn % 3), SkipNulls: uint32(turn / 3 % 2)}
	want, max, valid := aggregate(k, msl.FinishParams{MinCount: p.MinCount, SkipNulls: p.SkipNulls}, c)
	k.Skeleton = msl.Aggregate
	args := newArgs(t, d, msl.AggregateBindings)
	if c.valid != nil {
		k.Flags |= msl.ANulls
	}
	if turn%2 == 1 {
		k.Flags |= msl.Pending
		p.N += 9000
	}
	args.in(msl.AggregateIn, c.data)
	args.in(msl.AggregateValid, c.bits)
	args.in(msl.AggregateLen, binary.LittleEndian.AppendUint64(nil, uint64(len(c.values))))
	args.out(msl.AggregateOut, outBytes(k.Out, 1))
	args.out(msl.AggregateOutValid, 4)
	args.out(msl.AggregateOut2, outBytes(k.Out, 1))
	args.params(msl.AggregateArgs, p)
	launch(t, d, k, 2, args) // one more than needed, which must do nothing
	if ok := args.words(msl.AggregateOutValid)[0]; ok != uint32(truth(valid)) {
		t.Fatalf("%d rows in one go, %+v: valid is %d, want %v", len(c.values), p, ok, valid)
	}
	got := unpack(t, k.Out, args.bytes(msl.AggregateOut), 1)[0]
	if valid && !same(k.Out, got, want) {
		t.Fatalf("%d rows in one go, %+v: %#x, want %#x", len(c.values), p, got, want)
	}
	if valid && k.Op == "min_max" {
		if got := unpack(t, k.Out, args.bytes(msl.AggregateOut2), 1)[0]; !same(k.Out, got, max) {
			t.Fatalf("%d rows in one go, %+v: maximum %#x, want %#x", len(c.values), p, got, max)
		}
	}
}

func reduce(t *testing.T, d gpu.Device, k msl.Key, c *column, partials gpu.Arg, groups, first uint64, pending bool) {
	t.Helper()
	p := msl.ReduceParams{N: uint64(len(c.values)), Off: uint64(c.off), Valid: uint64(c.voff), Groups: uint32(groups), First: uint32(first)}
	args := newArgs(t, d, msl.ReduceBindings)
	if c.valid != nil {
		k.Flags |= msl.ANulls
	}
	if pending {
		k.Flags |= msl.Pending
		p.N += 9000
	}
	args.in(msl.ReduceIn, c.data)
	args.in(msl.ReduceValid, c.bits)
	args.list[msl.ReducePartials] = partials
	args.in(msl.ReduceLen, binary.LittleEndian.AppendUint64(nil, uint64(len(c.values))))
	args.params(msl.ReduceArgs, p)
	launch(t, d, k, groups+1, args) // one more than needed, which must do nothing
}

// aggregate is the meaning of Finish: the result, the maximum of min_max, and whether they are valid.
func aggregate(k msl.Key, p msl.FinishParams, columns ...*column) (value, max uint64, ok bool) {
	rows, trues := 0, 0
	var valid []uint64
	for _, c := range columns {
		rows += len(c.values)
		for i, v := range c.values {
			if c.isValid(i) {
				valid = append(valid, v)
				if v != 0 {
					trues++
				}
			}
		}
	}
	n := len(valid)
	ok = n >= int(p.MinCount) && (p.SkipNulls != 0 || n == rows)
	switch k.Op {
	case "count":
		return uint64(n), 0, true
	case "count_null":
		return uint64(rows - n), 0, true
	case "count_all":
		return uint64(rows), 0, true
	case "any":
		return truth(trues > 0), 0, ok || n >= int(p.MinCount) && trues > 0
	case "all":
		return truth(trues == n), 0, ok || n >= int(p.MinCount) && trues < n
	case "sum", "mean":
		if isFloat(k.In) {
			sum := exactSum(k.In, valid)
			if k.Op == "mean" {
				sum /= float64(n)
			}
			return math.Float64bits(sum), 0, ok
		}
		sum := new(big.Int)
		for _, v := range valid {
			if k.In == msl.Bool {
				sum.Add(sum, new(big.Int).SetUint64(v))
			} else {
				sum.Add(sum, number(k.In, v))
			}
		}
		if k.Op == "sum" {
			v, _ := fit(k.Out, sum)
			return v, 0, ok
		}
		f, _ := new(big.Float).SetInt(sum).Float64()
		return math.Float64bits(f / float64(n)), 0, ok
	}
	value, max = extremes(k.In, valid)
	if k.Op == "max" {
		value = max
	}
	return value, max, ok && n > 0
}

// exactSum rounds the sum once. A zero is +0.
func exactSum(t msl.Type, values []uint64) float64 {
	sum := new(big.Float).SetPrec(4096)
	special := 0.0 // NaN or an infinity absorbs the rest
	for _, v := range values {
		if f := real(t, v); math.IsNaN(f) || math.IsInf(f, 0) {
			special += f
		} else {
			sum.Add(sum, new(big.Float).SetFloat64(f))
		}
	}
	if special != 0 {
		return special
	}
	f, _ := sum.Float64()
	return f + 0
}

func extremes(t msl.Type, values []uint64) (smallest, largest uint64) {
	seen := false
	less := func(a, b uint64) bool {
		if t == msl.Bool {
			return a < b
		}
		if isFloat(t) && real(t, a) == real(t, b) {
			return math.Signbit(real(t, a)) && !math.Signbit(real(t, b))
		}
		return order(t, a, b) < 0
	}
	for _, v := range values {
		if isNaN(t, v) {
			continue
		}
		if !seen || less(v, smallest) {
			smallest = v
		}
		if !seen || less(largest, v) {
			largest = v
		}
		seen = true
	}
	if !seen {
		return edgeNaN(t), edgeNaN(t)
	}
	return smallest, largest
}

// TestRunExactSums sums what rounding and carrying get wrong.
func TestRunExactSums(t *testing.T) {
	d := device(t)
	big := math.MaxFloat64
	tiny := math.SmallestNonzeroFloat64
	cases := map[string][]float64{
		"cancellation":            {1e300, 1, -1e300, 1e-300},
		"overflow and back":       {big, big, -big},
		"overflow":                {big, big},
		"negative overflow":       {-big, -big, -big},
		"least above infinity":    {0x1p1023, 0x1p1023, 0x1p972},
		"all digits zero":         slices.Repeat([]float64{-0x1p1023}, 1<<15),
		"largest":                 {big, 0x1p969},
		"just overflows":          {big, 0x1p970},
		"tie to even down":        {1, 0x1p-53},
		"tie to even up":          {1 + 0x1p-52, 0x1p-53},
		"above a tie":             {1, 0x1p-53, tiny},
		"below a tie":             {1, 0x1p-53, -tiny},
		"negative tie":            {-1, -0x1p-53},
		"negative above a tie":    {-1, -0x1p-53, -tiny},
		"carry through all":       {0x1p1000, -tiny},
		"subnormals":              {tiny, tiny, tiny},
		"subnormal to normal":     {0x0.fffffffffffffp-1022, tiny},
		"normal to subnormal":     {0x1p-1022, -tiny},
		"smallest exponent":       {0x1p-1022, 0x1p-1022, -tiny},
		"two exponents up":        {0x1.fffffffffffffp-1021, tiny},
		"negative zeros":          {math.Copysign(0, -1), math.Copysign(0, -1)},
		"zero":                    {1, -1},
		"infinity":                {math.Inf(1), -big, -big},
		"opposite infinities":     {math.Inf(1), math.Inf(-1)},
		"infinity and NaN":        {math.Inf(-1), math.NaN()},
		"digit boundary":          {0x1p-1058, -tiny},
		"sticky far below":        {0x1p100, 0x1p47, 0x1p-1000},
		"sticky far below, minus": {0x1p100, 0x1p47, -0x1p-1000},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		// Values of similar size, or of any, with most of the sum cancelled.
		list := make([]float64, 1+r.IntN(300))
		spread := 1 + r.IntN(2000)
		for i := range list {
			list[i] = math.Ldexp(r.Float64()-0.5, r.IntN(spread)-spread/2-r.IntN(60))
			if i > 0 && r.IntN(3) == 0 {
				list[i] = -list[r.IntN(i)]
			}
		}
		cases["random "+string(rune('A'+len(cases)))] = list
	}
	finish := msl.Key{Skeleton: msl.Finish, Op: "sum", In: msl.F64, Out: msl.F64}
	for name, list := range cases {
		t.Run(name, func(t *testing.T) {
			values := make([]uint64, len(list))
			for i, f := range list {
				values[i] = math.Float64bits(f)
			}
			testReduce(t, d, finish, newColumn(msl.F64, values, nil, 0, 0), newColumn(msl.F64, nil, nil, 0, 0), 0)
		})
	}
}

// TestRunCountBeyond32Bits counts more rows than 32 bits number.
func TestRunCountBeyond32Bits(t *testing.T) {
	d := device(t)
	n := uint64(1)<<33 + 5
	k := msl.Key{Skeleton: msl.Reduce, Op: msl.OpCount}
	args := newArgs(t, d, msl.ReduceBindings)
	args.out(msl.ReducePartials, msl.StateWords(k)*8)
	args.params(msl.ReduceArgs, msl.ReduceParams{N: n, Groups: 1})
	launch(t, d, k, 1, args)
	if got := binary.LittleEndian.Uint64(args.bytes(msl.ReducePartials)); got != n {
		t.Errorf("%d rows, want %d", got, n)
	}
}
