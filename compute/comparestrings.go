package compute

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/strs"
	"github.com/broadhead-go/broadhead/msl"
)

// stringComparisons are the comparisons that byte strings have, and what they make of two that change places.
var stringComparisons = map[string]struct{ as, flipped cpu.Comparison }{
	"equal":         {cpu.IsEqual, cpu.IsEqual},
	"not_equal":     {cpu.IsNotEqual, cpu.IsNotEqual},
	"less":          {cpu.IsLess, cpu.IsGreater},
	"less_equal":    {cpu.IsLessEqual, cpu.IsGreaterEqual},
	"greater":       {cpu.IsGreater, cpu.IsLess},
	"greater_equal": {cpu.IsGreaterEqual, cpu.IsLessEqual},
}

// resolveStrings is the call of a comparison of byte strings, of any two layouts; nil for other functions and types.
// Dictionaries are looked up and extensions give their storage.
func resolveStrings(name string, in []arrow.DataType) *call {
	kind, ok := stringComparisons[name]
	if !ok {
		return nil
	}
	a, b := bareTypes(in)
	if !isStrings(a) || !isStrings(b) {
		return nil
	}
	c := &call{
		out: arrow.FixedWidthTypes.Boolean, noGPU: "no GPU kernel for strings", cross: crossCompare,
		nulls: func(args []bool) bool { return args[0] || args[1] },
		cpu: func(ctx context.Context, args []Datum) (Datum, error) {
			return compareStrings(ctx, kind.as, kind.flipped, args)
		},
	}
	for i, t := range in {
		if t.ID() != arrow.NULL {
			c.casts[i] = steps(t)
		}
	}
	return c
}

var stringScratch = sync.Pool{New: func() any { return new(strs.Scratch) }}

// compareStrings compares on the CPU.
func compareStrings(ctx context.Context, kind, flipped cpu.Comparison, args []Datum) (Datum, error) {
	cols, forms := make([][]column, len(args)), make([]form, len(args))
	for i, a := range args {
		var err error
		if cols[i], err = stringColumns(a); err != nil {
			return nil, err
		}
		forms[i], _ = formOf(a)
	}
	runs, f, err := alignRuns(cols, forms)
	if err != nil {
		return nil, err
	}
	out := make([]arrow.ArrayData, 0, len(runs))
	defer func() {
		for _, d := range out {
			d.Release()
		}
	}()
	for i := range runs {
		d, err := compareStringRun(ctx, kind, flipped, &runs[i])
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return assemble(arrow.FixedWidthTypes.Boolean, f, out), nil
}

func compareStringRun(ctx context.Context, kind, flipped cpu.Comparison, r *run) (arrow.ArrayData, error) {
	a, b, mem := &r.cols[0], &r.cols[1], GetAllocator(ctx)
	if a.stride == 0 && b.stride != 0 { // kernels take the single value on the right
		a, b, kind = b, a, flipped
	}
	values, err := newBuffer(mem, bytesFor(msl.Bool, r.n))
	if err != nil {
		return nil, err
	}
	defer values.Release()
	var bad atomic.Bool
	cpu.Parallel(r.n, mapMorsel, workersOf(ctx), func(_, start, end int) {
		var words [strs.BlockRows / 64]uint64
		scratch := stringScratch.Get().(*strs.Scratch)
		defer stringScratch.Put(scratch)
		for i := start; i < end && !bad.Load() && ctx.Err() == nil; i += strs.BlockRows {
			n := min(strs.BlockRows, end-i)
			if !scratch.Compare(kind, words[:], a.strs, a.off+i, b.strs, b.off+i*b.stride, n, b.stride == 0) {
				bad.Store(true)
			}
			cpu.PutWords(values.Bytes()[i/8:], words[:], n)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if bad.Load() {
		return nil, errStrings
	}
	valid, err := andValidity(mem, r, r.n)
	if err != nil {
		return nil, err
	}
	nulls := 0
	if valid != nil {
		defer valid.Release()
		nulls = array.UnknownNullCount
	}
	return array.NewData(arrow.FixedWidthTypes.Boolean, r.n, []*arrowmem.Buffer{valid, values}, nil, nulls, 0), nil
}
