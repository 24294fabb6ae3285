package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// SortIndices gives the numbers of the rows in sorted order, as an array of uint64.
//
// Takes an array or chunks, which the first key's order and null placement sort, or a record batch or table, whose
// columns the keys name: rows that are equal by one key are sorted by the next. Equal rows stay in their order. Types of
// numbers, time, decimals, intervals, Bool (false first), text and binaries (by bytes), dictionaries (by value) and null.
//
// Nulls come last or first as the key says, in either direction; NaN lies between them and the values; -0 equals 0. No
// key, or one whose column is not there, is arrow.ErrInvalid; other types and scalars are arrow.ErrNotImplemented. The
// result belongs to the caller. Sorting is done by the CPU, on every core. Source: a radix sort, lowest digit first.
func SortIndices(ctx context.Context, input Datum, keys SortOptions) (Datum, error) {
	return CallFunction(ctx, "sort_indices", keys, input)
}

// SortIndicesArray is [SortIndices] for an array. The caller releases the result.
func SortIndicesArray(ctx context.Context, input arrow.Array, key SortKey) (arrow.Array, error) {
	return callArrays(ctx, "sort_indices", SortOptions{key}, input)
}

// SortIndicesChunked is [SortIndices] for chunks; rows are numbered through all of them. The caller releases the result.
func SortIndicesChunked(ctx context.Context, input *arrow.Chunked, key SortKey) (arrow.Array, error) {
	return sortedIndices(ctx, input, SortOptions{key})
}

// SortIndicesRecordBatch is [SortIndices] for a record batch. The caller releases the result.
func SortIndicesRecordBatch(ctx context.Context, batch arrow.RecordBatch, keys []SortKey) (arrow.Array, error) {
	return sortedIndices(ctx, batch, SortOptions(keys))
}

// SortIndicesTable is [SortIndices] for a table. The caller releases the result.
func SortIndicesTable(ctx context.Context, tbl arrow.Table, keys []SortKey) (arrow.Array, error) {
	return sortedIndices(ctx, tbl, SortOptions(keys))
}

func sortedIndices(ctx context.Context, input any, keys SortOptions) (arrow.Array, error) {
	out, err := callSort(ctx, "sort_indices", input, keys)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	return out.(*ArrayDatum).MakeArray(), nil
}

// callSort sorts something that a datum can hold.
func callSort(ctx context.Context, name string, input any, keys SortOptions) (Datum, error) {
	switch v := input.(type) {
	case *arrow.Chunked:
		if v != nil {
			return CallFunction(ctx, name, keys, NewDatumWithoutOwning(v))
		}
	case arrow.RecordBatch:
		if v != nil {
			return CallFunction(ctx, name, keys, NewDatumWithoutOwning(v))
		}
	case arrow.Table:
		if v != nil {
			return CallFunction(ctx, name, keys, NewDatumWithoutOwning(v))
		}
	}
	return nil, fmt.Errorf("%w: function '%s': the input is nil", arrow.ErrInvalid, name)
}

// Sort is a sorted copy of an array, chunks, a record batch or a table: its rows in the order of [SortIndices], whose
// types, nulls and errors it has. The result belongs to the caller.
func Sort(ctx context.Context, input Datum, keys SortOptions) (Datum, error) {
	return CallFunction(ctx, "sort", keys, input)
}

// SortArray is [Sort] for an array. The caller releases the result.
func SortArray(ctx context.Context, input arrow.Array, key SortKey) (arrow.Array, error) {
	return callArrays(ctx, "sort", SortOptions{key}, input)
}

// SortChunked is [Sort] for chunks. The caller releases the result.
func SortChunked(ctx context.Context, input *arrow.Chunked, key SortKey) (*arrow.Chunked, error) {
	out, err := callSort(ctx, "sort", input, SortOptions{key})
	if err != nil {
		return nil, err
	}
	return out.(*ChunkedDatum).Value, nil
}

// SortRecordBatch is [Sort] for a record batch. The caller releases the result.
func SortRecordBatch(ctx context.Context, batch arrow.RecordBatch, keys []SortKey) (arrow.RecordBatch, error) {
	out, err := callSort(ctx, "sort", batch, SortOptions(keys))
	if err != nil {
		return nil, err
	}
	return out.(*RecordDatum).Value, nil
}

// SortTable is [Sort] for a table. The caller releases the result.
func SortTable(ctx context.Context, tbl arrow.Table, keys []SortKey) (arrow.Table, error) {
	out, err := callSort(ctx, "sort", tbl, SortOptions(keys))
	if err != nil {
		return nil, err
	}
	return out.(*TableDatum).Value, nil
}
