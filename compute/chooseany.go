package compute

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/selection"
)

// chooseAny resolves a choice among values of types without kernels: strings, wide values, dictionaries, nested types.
func chooseAny(o *op, in []arrow.DataType) (*call, error) {
	first, rules := 0, meeting(0)
	t := in[0]
	if o.name == "if_else" {
		first, rules = 1, meetsNull|sameZone
		if id := bare(in[0]).ID(); id != arrow.BOOL && id != arrow.NULL {
			return nil, errNoKernel
		}
	}
	if o.name != "fill_null" {
		var err error
		if t, err = chosenType(in[first:], rules); err != nil {
			return nil, err
		}
	}
	if !choosable(t) || len(in) > maxArgs {
		return nil, errNoKernel
	}
	c := &call{out: t, nulls: o.mayBeNull, cross: o.cross, noGPU: fmt.Sprintf("no GPU kernel for %s", t)}
	for i := first; i < len(in); i++ {
		c.casts[i] = stepsTo(in[i], t)
	}
	choose := chooseFirst
	if first == 1 {
		c.casts[0] = steps(in[0], arrow.FixedWidthTypes.Boolean)
		choose = chooseIf
	}
	c.cpu = func(ctx context.Context, args []Datum) (Datum, error) {
		return perRun(t, args, func(args []Datum, n int) (arrow.Array, error) {
			if n == 0 {
				empty := emptyData(t)
				defer empty.Release()
				return array.MakeFromData(empty), nil
			}
			return choose(ctx, args, n)
		})
	}
	return c, nil
}

// choosable says that the validity of a type's rows is in a bitmap of their own.
func choosable(t arrow.DataType) bool {
	switch d := t.(type) {
	case arrow.ExtensionType:
		return choosable(d.StorageType())
	case *arrow.SparseUnionType, *arrow.DenseUnionType, *arrow.RunEndEncodedType:
		return false
	}
	return true
}

// perRun calls f for each run of rows in which every argument is an array or a scalar, and puts the results together in
// the form that the arguments ask for.
func perRun(t arrow.DataType, args []Datum, f func(args []Datum, n int) (arrow.Array, error)) (Datum, error) {
	runs, result, release, err := runsOfArgs(args)
	if err != nil {
		return nil, err
	}
	defer release()
	out := make([]arrow.Array, 0, len(runs))
	defer func() {
		for _, a := range out {
			a.Release()
		}
	}()
	for _, r := range runs {
		a, err := f(r.args, r.n)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	switch result {
	case formScalar:
		s, err := scalar.GetScalar(out[0], 0)
		if err != nil {
			return nil, err
		}
		return &ac.ScalarDatum{Value: s}, nil
	case formArray:
		return ac.NewDatum(out[0]), nil
	}
	return &ac.ChunkedDatum{Value: arrow.NewChunked(t, out)}, nil
}

// chooseFirst takes the first value that is valid.
func chooseFirst(ctx context.Context, args []Datum, n int) (arrow.Array, error) {
	out, err := expanded(ctx, args[0], n)
	for _, d := range args[1:] {
		if err != nil {
			return nil, err
		}
		var next, both arrow.Array
		if next, err = expanded(ctx, d, n); err == nil {
			both, err = pick(ctx, n, validWords(out.Data(), n), nil, out, next)
			next.Release()
		}
		out.Release()
		out = both
	}
	return out, err
}

// chooseIf takes the first value where a condition is true, else the second.
func chooseIf(ctx context.Context, args []Datum, n int) (arrow.Array, error) {
	var in [3]arrow.Array
	for i, d := range args {
		a, err := expanded(ctx, d, n)
		if err != nil {
			return nil, err
		}
		defer a.Release()
		in[i] = a
	}
	cond := in[0].Data()
	choice := make([]uint64, (n+63)/64)
	cpu.Bitmap{Data: cond.Buffers()[1].Bytes(), Off: cond.Offset()}.Words(choice, 0, n)
	return pick(ctx, n, choice, validWords(cond, n), in[1], in[2])
}

// expanded is an array of n rows of an array or a scalar.
func expanded(ctx context.Context, d Datum, n int) (arrow.Array, error) {
	if s, ok := d.(*ac.ScalarDatum); ok {
		return scalar.MakeArrayFromScalar(s.Value, n, GetAllocator(ctx))
	}
	data := d.(*ac.ArrayDatum).Value
	if err := selection.CheckRows(data); err != nil {
		return nil, err
	}
	return array.MakeFromData(data), nil
}

// validWords is the validity of array data in words.
func validWords(d arrow.ArrayData, n int) []uint64 {
	words := make([]uint64, (n+63)/64)
	if d.DataType().ID() != arrow.NULL {
		bitmapOf(d).Words(words, 0, n)
	}
	return words
}

// bitmapOf is the validity bitmap of array data.
func bitmapOf(d arrow.ArrayData) cpu.Bitmap {
	if b := d.Buffers(); len(b) > 0 && b[0] != nil && b[0].Len() > 0 && d.NullN() != 0 {
		return cpu.Bitmap{Data: b[0].Bytes(), Off: d.Offset()}
	}
	return cpu.Bitmap{}
}

// eachRun calls f for each run of equal bits of choice, until there is an error.
func eachRun(choice []uint64, n int, f func(chosen bool, start, n int) error) error {
	bit := func(i int) bool { return choice[i/64]>>(i%64)&1 != 0 }
	for start := 0; start < n; {
		chosen, end := bit(start), start+1
		for end < n && bit(end) == chosen {
			if w := choice[end/64]; end%64 == 0 && end+64 <= n && (w == 0 || w == ^uint64(0)) && (w != 0) == chosen {
				end += 64
				continue
			}
			end++
		}
		if err := f(chosen, start, end-start); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// pick takes rows from a where choice is set, else from b; rows that are not valid are null. valid may be nil.
func pick(ctx context.Context, n int, choice, valid []uint64, a, b arrow.Array) (arrow.Array, error) {
	chosen, err := pickValidity(ctx, n, choice, valid, a.Data(), b.Data())
	if err != nil {
		return nil, err
	}
	if chosen != nil {
		defer chosen.Release()
	}
	if t, ok := a.DataType().(arrow.ExtensionType); ok {
		x, y := a.(array.ExtensionArray).Storage(), b.(array.ExtensionArray).Storage()
		s, err := pick(ctx, n, choice, valid, x, y)
		if err != nil {
			return nil, err
		}
		defer s.Release()
		return array.NewExtensionArrayWithStorage(t, s), nil
	}
	return pickValues(ctx, n, choice, chosen, a, b)
}

// sameDictionary says that two arrays have one dictionary, so that their indexes mean the same.
func sameDictionary(a, b arrow.ArrayData) bool {
	x, y := dictionaryOf(a), dictionaryOf(b)
	return x == y || x != nil && y != nil && x.Len() == y.Len() && x.Offset() == y.Offset() && slices.Equal(x.Buffers(), y.Buffers()) &&
		len(x.Children()) == 0
}
