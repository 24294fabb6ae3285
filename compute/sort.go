package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/order"
	"github.com/broadhead-go/broadhead/compute/internal/selection"
)

// ArraySortOptions are the options of array_sort_indices: one key, whose ColumnIndex means nothing.
type ArraySortOptions struct{ SortKey }

// TypeName is the options' name in Arrow.
func (ArraySortOptions) TypeName() string { return "ArraySortOptions" }

// DefaultArraySortOptions sort upwards, nulls last.
func DefaultArraySortOptions() *ArraySortOptions { return &ArraySortOptions{DefaultSortKey()} }

// sortFunctions sort, by name.
func sortFunctions() map[string]*function {
	doc := func(summary, input, opts string) FunctionDoc {
		return FunctionDoc{Summary: summary, ArgNames: []string{input}, OptionsType: opts}
	}
	return map[string]*function{
		"sort_indices": {kind: ac.FuncMeta, arity: Arity{NArgs: 1}, opts: SortOptions{DefaultSortKey()}, whole: sortIndices,
			doc: doc("Return the indices that would sort the input", "input", "SortKeys")},
		"array_sort_indices": {kind: ac.FuncVector, arity: Arity{NArgs: 1}, opts: DefaultArraySortOptions(), whole: arraySortIndices,
			doc: doc("Return the indices that would sort an array", "array", "ArraySortOptions")},
		"sort": {kind: ac.FuncMeta, arity: Arity{NArgs: 1}, opts: SortOptions{DefaultSortKey()}, whole: sorted,
			doc: doc("Return a sorted copy of the input", "input", "SortKeys")},
	}
}

// sortKeysOf are the keys that options hold, at least one.
func sortKeysOf(name string, opts FunctionOptions) (SortOptions, error) {
	keys, err := optionsOf(name, opts, func() *SortOptions { return &SortOptions{DefaultSortKey()} })
	if err != nil {
		return nil, err
	}
	if len(*keys) == 0 {
		return nil, fmt.Errorf("%w: must provide at least one sort key", arrow.ErrInvalid)
	}
	for i, k := range *keys {
		if err := checkSortKey(i, k); err != nil {
			return nil, err
		}
	}
	return *keys, nil
}

func checkSortKey(i int, k SortKey) error {
	if k.Order != SortOrderAscending && k.Order != SortOrderDescending {
		return fmt.Errorf("%w: sort key %d has no order %d", arrow.ErrInvalid, i, k.Order)
	}
	if k.NullPlacement != SortNullsAtEnd && k.NullPlacement != SortNullsAtStart {
		return fmt.Errorf("%w: sort key %d has no null placement %d", arrow.ErrInvalid, i, k.NullPlacement)
	}
	return nil
}

// sortIndices is sort_indices.
func sortIndices(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	keys, err := sortKeysOf("sort_indices", opts)
	if err != nil {
		return nil, err
	}
	var cols []Datum
	switch args[0].Kind() {
	case ac.KindArray, ac.KindChunked:
		keys, cols = keys[:1], args
	case ac.KindRecord, ac.KindTable:
		all := columnsOfTable(args[0])
		for i, k := range keys {
			if k.ColumnIndex < 0 || k.ColumnIndex >= len(all) {
				return nil, fmt.Errorf("%w: sort key %d has invalid column index %d", arrow.ErrInvalid, i, k.ColumnIndex)
			}
			cols = append(cols, all[k.ColumnIndex])
		}
	default:
		return nil, fmt.Errorf("%w: unsupported type for sort_indices operation: %s", arrow.ErrNotImplemented, args[0].Kind())
	}
	return sortColumns(ctx, cols, keys)
}

// arraySortIndices is array_sort_indices, which gives chunks for chunks.
func arraySortIndices(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	o, err := optionsOf("array_sort_indices", opts, DefaultArraySortOptions)
	if err == nil {
		err = checkSortKey(0, o.SortKey)
	}
	if err != nil {
		return nil, err
	}
	kind := args[0].Kind()
	if kind != ac.KindArray && kind != ac.KindChunked {
		return nil, fmt.Errorf("%w: array_sort_indices takes arrays and chunked arrays, got a %s", arrow.ErrNotImplemented, kind)
	}
	out, err := sortColumns(ctx, args, SortOptions{o.SortKey})
	if err != nil || kind == ac.KindArray {
		return out, err
	}
	defer out.Release()
	return assemble(arrow.PrimitiveTypes.Uint64, formChunked, []arrow.ArrayData{out.(*ac.ArrayDatum).Value}), nil
}

// sorted is sort.
func sorted(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	indices, err := CallFunction(ctx, "sort_indices", opts, args...)
	if err != nil {
		return nil, err
	}
	defer indices.Release()
	ctx = WithDevice(ctx, nil) // the indices are the CPU's, and it moves the rows
	return CallFunction(ctx, "take", ac.DefaultTakeOptions(), args[0], indices)
}

// sortColumns is the order of rows of columns by keys, as an array of uint64.
func sortColumns(ctx context.Context, cols []Datum, keys SortOptions) (Datum, error) {
	n, workers, mem := int(cols[0].Len()), workersOf(ctx), GetAllocator(ctx)
	by := make([]order.Key, len(keys))
	for i, d := range cols {
		if int(d.Len()) != n {
			return nil, fmt.Errorf("%w: all columns must have the same length", arrow.ErrInvalid)
		}
		t := d.(ArrayLikeDatum).Type()
		if casts := steps(t); len(casts) > 0 {
			plain, err := castAll(ctx, d, casts, false)
			if err != nil {
				return nil, err
			}
			defer plain.Release()
			d, t = plain, bare(t)
		}
		col := sortColumn{typ: t, chunks: chunksOf(d), n: n, workers: workers}
		for _, c := range col.chunks {
			if err := selection.CheckRows(c); err != nil {
				return nil, err
			}
		}
		var err error
		if by[i], err = col.key(); err != nil {
			return nil, err
		}
		by[i].Descending = keys[i].Order == SortOrderDescending
		by[i].NullsFirst = keys[i].NullPlacement == SortNullsAtStart
	}
	out, err := newBuffer(mem, 8*n)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	var scratch []*arrowmem.Buffer
	defer func() {
		for _, b := range scratch {
			b.Release()
		}
	}()
	take := func(n int) ([]byte, error) {
		b, err := newBuffer(mem, n)
		if err != nil {
			return nil, err
		}
		scratch = append(scratch, b)
		return b.Bytes(), nil
	}
	if err := order.Rows(view[uint64](out.Bytes(), n), by, workers, take, ctx.Err); err != nil {
		return nil, err
	}
	data := array.NewData(arrow.PrimitiveTypes.Uint64, n, []*arrowmem.Buffer{nil, out}, nil, 0, 0)
	defer data.Release()
	return NewDatum(data), nil
}
