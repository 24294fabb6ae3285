package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
)

// nestedAlike says that a cast changes nothing but the types of a nested type's children. arrow-go v18.8.0 loses rows of
// slices there and makes broken arrays of lists of structs.
func nestedAlike(from, to arrow.DataType) bool {
	if from.ID() != to.ID() {
		return false
	}
	switch from := from.(type) {
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType:
		return true
	case *arrow.FixedSizeListType:
		return from.Len() == to.(*arrow.FixedSizeListType).Len()
	case *arrow.StructType:
		a, b := from.Fields(), to.(*arrow.StructType).Fields()
		for i := range min(len(a), len(b)) {
			if a[i].Name != b[i].Name || a[i].Nullable && !b[i].Nullable {
				return false
			}
		}
		return len(a) == len(b)
	}
	return false
}

// castNested casts the children of each chunk, as far as its rows have any.
func castNested(ctx context.Context, d Datum, opts *CastOptions) (Datum, error) {
	out := make([]arrow.ArrayData, 0, 1)
	defer func() {
		for _, c := range out {
			c.Release()
		}
	}()
	for _, c := range chunksOf(d) {
		data, err := castChildren(ctx, c, opts)
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	f, _ := formOf(d)
	return assemble(opts.ToType, f, out), nil
}

func castChildren(ctx context.Context, d arrow.ArrayData, opts *CastOptions) (arrow.ArrayData, error) {
	to := opts.ToType
	if d.Len() == 0 {
		return emptyData(to), nil
	}
	arr := array.MakeFromData(d)
	defer arr.Release()
	if !hasJustItsChildren(arr) {
		safe, failed := guarded(ctx)
		whole, err := array.Concatenate([]arrow.Array{arr}, GetAllocator(safe))
		if err == nil {
			defer whole.Release()
			err = failed()
		}
		if err != nil {
			return nil, err
		}
		d = whole.Data()
	}
	fields := to.(arrow.NestedType).Fields()
	children := make([]arrow.ArrayData, len(fields))
	for i, f := range fields {
		child := d.Children()[i]
		if arrow.TypeEqual(child.DataType(), f.Type) {
			children[i] = child
			continue
		}
		o := *opts
		o.ToType = f.Type
		in := ac.NewDatum(child)
		cast, err := castWith(ctx, in, &o)
		in.Release()
		if err != nil {
			return nil, err
		}
		defer cast.Release()
		children[i] = cast.(*ac.ArrayDatum).Value
	}
	return array.NewData(to, d.Len(), d.Buffers(), children, d.NullN(), d.Offset()), nil
}

// hasJustItsChildren says that an array of some rows is no slice of another.
func hasJustItsChildren(arr arrow.Array) bool {
	d, n := arr.Data(), arr.Len()
	if d.Offset() != 0 {
		return false
	}
	if l, ok := arr.(array.ListLike); ok {
		first, _ := l.ValueOffsets(0)
		_, last := l.ValueOffsets(n - 1)
		return first == 0 && int(last) == d.Children()[0].Len()
	}
	for _, c := range d.Children() {
		if c.Len() != n {
			return false
		}
	}
	return true
}
