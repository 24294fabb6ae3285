package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// passOn hands a call to arrow-go's function of the name. Element-wise calls go there with dictionaries looked up and
// chunk by chunk, since arrow-go loses nulls of chunks that are slices.
func (f *function) passOn(ctx context.Context, opts FunctionOptions, args []Datum, types []arrow.DataType) (Datum, error) {
	if f.base == nil {
		return nil, f.noKernel(types)
	}
	pass := f.passWhole
	if f.elementWise {
		decode := &call{}
		for i, t := range types {
			if f.arity.NArgs == 2 {
				decode.casts[i] = steps(t)
			}
		}
		decoded, release, err := decode.cast(ctx, args)
		if err != nil {
			return nil, err
		}
		defer release()
		args, pass = decoded, f.passChunks
	}
	out, err := pass(ctx, opts, args)
	if err == nil {
		countRun(f.name, arrowName, rowsOf(args))
	}
	return out, err
}

func (f *function) passWhole(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	return callArrow(ctx, f.base, opts, args)
}

// callArrow calls a function of arrow-go's own.
func callArrow(ctx context.Context, f Function, opts FunctionOptions, args []Datum) (Datum, error) {
	safe, release := safeForArrow(ctx, args)
	defer release()
	ctx, failed := guarded(ctx)
	out, err := f.Execute(ctx, opts, safe...)
	if e := failed(); e != nil {
		err = e
	} else if out == nil && err == nil {
		err = fmt.Errorf("%w: arrow-go's '%s' has no answer", arrow.ErrInvalid, f.Name())
	}
	if err != nil && out != nil {
		out.Release()
		out = nil
	}
	return out, err
}

// passChunks passes one array a run of rows where an argument has chunks.
func (f *function) passChunks(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	runs, result, release, err := runsOfArgs(args)
	if err != nil || result != formChunked || len(runs) == 0 {
		return f.passWhole(ctx, opts, args)
	}
	defer release()
	out := make([]arrow.Array, 0, len(runs))
	defer func() {
		for _, c := range out {
			c.Release()
		}
	}()
	for _, r := range runs {
		d, err := f.passWhole(ctx, opts, r.args)
		if err != nil {
			return nil, err
		}
		out = append(out, d.(*ac.ArrayDatum).MakeArray())
		d.Release()
	}
	return &ac.ChunkedDatum{Value: arrow.NewChunked(out[0].DataType(), out)}, nil
}

// argRun is a run of n rows of some arguments, each an array or a scalar.
type argRun struct {
	args []Datum
	n    int
}

// runsOfArgs cuts arguments at every chunk border of any of them.
func runsOfArgs(args []Datum) (out []argRun, f form, release func(), err error) {
	lengths, forms := make([][]int, len(args)), make([]form, len(args))
	for i, a := range args {
		forms[i], _ = formOf(a)
		for _, c := range chunksOf(a) {
			lengths[i] = append(lengths[i], c.Len())
		}
	}
	runs, f, err := alignLengths(lengths, forms)
	if err != nil {
		return nil, f, nil, err
	}
	if f != formChunked {
		return []argRun{{args, runs[0]}}, f, func() {}, nil
	}
	var owned []Datum
	row := 0
	for _, n := range runs {
		part := make([]Datum, len(args))
		for i, a := range args {
			if part[i] = a; forms[i] != formScalar {
				part[i] = rowsFrom(a, row, n)
				owned = append(owned, part[i])
			}
		}
		out = append(out, argRun{part, n})
		row += n
	}
	return out, f, func() { releaseAll(owned) }, nil
}

// rowsFrom is rows [row, row+n) of an array or of chunks, which lie in one chunk.
func rowsFrom(d Datum, row, n int) Datum {
	for _, c := range chunksOf(d) {
		if row < c.Len() {
			s := array.NewSliceData(c, int64(row), int64(row+n))
			defer s.Release()
			return ac.NewDatum(s)
		}
		row -= c.Len()
	}
	panic("compute: rows past the end of a datum")
}

// safeForArrow rebuilds arguments that arrow-go v18.8.0 gets wrong: empty arrays without all their buffers, as readers of
// files make them, on which it panics in a goroutine where nobody can recover, and slices of fixed-size binaries, of
// float16 and of structs, whose offset it forgets. Types that it would change are copied. The others pass as they are.
func safeForArrow(ctx context.Context, args []Datum) (safe []Datum, release func()) {
	var owned []Datum
	safe = args
	for i, a := range args {
		d := rebuilt(ctx, a)
		if d == nil {
			d = unshare(a)
		}
		if d == nil {
			continue
		}
		if owned == nil {
			safe = append([]Datum(nil), args...)
		}
		safe[i], owned = d, append(owned, d)
	}
	return safe, func() { releaseAll(owned) }
}

// rebuilt is a sound copy of a datum, or nil where it is sound.
func rebuilt(ctx context.Context, d Datum) Datum {
	sound := true
	for _, c := range chunksOf(d) {
		sound = sound && isSound(c)
	}
	if sound {
		return nil
	}
	switch v := d.(type) {
	case *ac.ArrayDatum:
		arr := v.MakeArray()
		defer arr.Release()
		out := soundCopy(ctx, arr)
		defer out.Release()
		return ac.NewDatum(out)
	case *ac.ChunkedDatum:
		chunks := make([]arrow.Array, len(v.Value.Chunks()))
		for i, c := range v.Value.Chunks() {
			chunks[i] = soundCopy(ctx, c)
			defer chunks[i].Release()
		}
		return &ac.ChunkedDatum{Value: arrow.NewChunked(v.Value.DataType(), chunks)}
	}
	return nil
}

// soundCopy is the array itself where it is sound.
func soundCopy(ctx context.Context, arr arrow.Array) arrow.Array {
	if isSound(arr.Data()) {
		arr.Retain()
		return arr
	}
	if arr.Len() > 0 {
		if out, err := array.Concatenate([]arrow.Array{arr}, GetAllocator(ctx)); err == nil {
			return out
		}
	}
	empty := emptyData(arr.DataType())
	defer empty.Release()
	return array.MakeFromData(empty)
}

// emptyData is array data of no rows that has every buffer and child of its type.
func emptyData(t arrow.DataType) arrow.ArrayData {
	bufs, fields := []*arrowmem.Buffer{nil}, []arrow.Field(nil)
	switch t := t.(type) {
	case arrow.ExtensionType:
		storage := emptyData(t.StorageType())
		defer storage.Release()
		return array.NewData(t, 0, storage.Buffers(), storage.Children(), 0, 0)
	case *arrow.FixedSizeListType:
		fields = t.Fields()
	case arrow.NestedType:
		fields = t.Fields()
		if t.ID() != arrow.STRUCT {
			bufs = append(bufs, arrowmem.NewBufferBytes(make([]byte, 8)))
		}
	case arrow.BinaryDataType:
		// an offset, or a view, which is longer
		bufs = append(bufs, arrowmem.NewBufferBytes(make([]byte, arrow.ViewHeaderSizeBytes)), arrowmem.NewBufferBytes([]byte{}))
	default:
		b := array.NewBuilder(arrowmem.DefaultAllocator, t)
		defer b.Release()
		arr := b.NewArray()
		defer arr.Release()
		arr.Data().Retain()
		return arr.Data()
	}
	children := make([]arrow.ArrayData, len(fields))
	for i, f := range fields {
		children[i] = emptyData(f.Type)
		defer children[i].Release()
	}
	return array.NewData(t, 0, bufs, children, 0, 0)
}

// isSound says that arrow-go's kernels read array data as it is meant.
func isSound(d arrow.ArrayData) bool {
	switch d.DataType().ID() {
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.LIST,
		arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST, arrow.MAP:
		return d.Len() > 0
	case arrow.STRUCT:
		return d.Len() > 0 && d.Offset() == 0
	case arrow.FIXED_SIZE_BINARY, arrow.FLOAT16:
		return d.Offset() == 0
	}
	return true
}
