package computetest

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

// lookupTypes are types whose values are looked up in sets.
var lookupTypes = append(append(ones(plain...), ones(stringTypes...)...), ones(dictI64, dictStr, nullType)...)

// setRows are the rows of the sets that options hold, by options.
var setRows sync.Map

// setsOf are options with sets of a type: small and large, with nulls and without, under every rule for nulls.
func setsOf(t arrow.DataType) []compute.FunctionOptions {
	var out []compute.FunctionOptions
	for i, s := range []struct {
		n     int
		nulls bool
		rule  compute.NullMatchingBehavior
		kind  flavour
	}{
		{40, true, compute.NullMatchingMatch, specials}, {3, true, compute.NullMatchingInconclusive, small},
		{700, false, compute.NullMatchingEmitNull, random}, {100, true, compute.NullMatchingSkip, specials},
		{0, false, compute.NullMatchingMatch, random},
	} {
		src := source{rng: rand.New(rand.NewPCG(uint64(i), uint64(t.ID()))), t: t, kind: s.kind}
		set := Column{Type: bare(t), Form: Array, Rows: make([]any, s.n)}
		for k := range set.Rows {
			if !s.nulls || k%5 != 2 {
				set.Rows[k] = src.next()
			}
		}
		l := &layout{under: src.bait, mem: memory.DefaultAllocator}
		if i == 3 {
			set.Form, l.cuts = Chunked, []int{0, 33, 67, 0}
		}
		o := &compute.SetOptions{ValueSet: set.datum(l), NullBehavior: s.rule}
		setRows.Store(o, set.Rows)
		out = append(out, o)
	}
	return out
}

// sameValue says that two values are one: any NaN is, -0 and 0 are two.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case float32:
		y := b.(float32)
		return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
	case float64:
		y := b.(float64)
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	}
	return a == b
}

// position is the place of a value in a set, -1 where it is not in it.
func position(set []any, v any) int {
	for i, s := range set {
		if (s == nil) == (v == nil) && (v == nil || sameValue(s, v)) {
			return i
		}
	}
	return -1
}

// lookup is the oracle of a function that looks each row up in the options' set: f gets the set, its rule and the row.
func lookup(out arrow.DataType, f func(set []any, rule compute.NullMatchingBehavior, v any) any) Oracle {
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		o := opts.(*compute.SetOptions)
		rows, _ := setRows.Load(o)
		set := rows.([]any)
		res := &Column{Type: out, Form: in[0].Form, Rows: make([]any, len(in[0].Rows))}
		for i, v := range in[0].Rows {
			res.Rows[i] = f(set, o.NullBehavior, v)
		}
		return res, nil
	}
}

func isIn(set []any, rule compute.NullMatchingBehavior, v any) any {
	at := position(set, v)
	switch {
	case v == nil && rule == compute.NullMatchingSkip:
		return false
	case v == nil && rule != compute.NullMatchingMatch:
		return nil
	case at < 0 && rule == compute.NullMatchingInconclusive && position(set, nil) >= 0:
		return nil
	}
	return at >= 0
}

func indexIn(set []any, rule compute.NullMatchingBehavior, v any) any {
	at := position(set, v)
	if at < 0 || v == nil && rule != compute.NullMatchingMatch {
		return nil
	}
	return int64(at)
}
