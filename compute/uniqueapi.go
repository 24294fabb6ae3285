package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Unique is the distinct values of an array or chunks as one array, in the order of first appearance.
//
// Types of numbers, time, decimals, intervals, Bool, text and binaries, null, and dictionaries, which keep their
// dictionary: chunks with dictionaries of their own get one for all. Null is a value of its own; all NaN are one, -0 and 0
// are two. Other types and scalars are arrow.ErrNotImplemented. The result belongs to the caller. The CPU does it, on
// every core.
func Unique(ctx context.Context, values Datum) (Datum, error) {
	return CallFunction(ctx, "unique", nil, values)
}

// UniqueArray is [Unique] for an array. The caller releases the result.
func UniqueArray(ctx context.Context, values arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "unique", nil, values)
}

// ValueCounts is how often each distinct value occurs, in the order of first appearance: an array of structs with the
// fields values and counts, an int64. All else is as for [Unique].
func ValueCounts(ctx context.Context, values Datum) (Datum, error) {
	return CallFunction(ctx, "value_counts", nil, values)
}

// ValueCountsArray is [ValueCounts] for an array. The caller releases the result.
func ValueCountsArray(ctx context.Context, values arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "value_counts", nil, values)
}

// DictionaryEncode is the values as a dictionary of the distinct ones, in the order of first appearance, and an int32
// index for each row; chunks share one dictionary. What is a dictionary already stays as it is.
//
// Types, NaN and errors are those of [Unique]. Nulls stay null, or with NullEncodingEncode are an entry of the
// dictionary; the dictionary of the null type has its null in any case.
func DictionaryEncode(ctx context.Context, opts DictionaryEncodeOptions, values Datum) (Datum, error) {
	return CallFunction(ctx, "dictionary_encode", &opts, values)
}

// DictionaryEncodeArray is [DictionaryEncode] for an array. The caller releases the result.
func DictionaryEncodeArray(ctx context.Context, opts DictionaryEncodeOptions, values arrow.Array) (arrow.Array, error) {
	in, err := datumOfArray(values)
	if err != nil {
		return nil, err
	}
	out, err := DictionaryEncode(ctx, opts, in)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	if c, ok := out.(*ChunkedDatum); ok { // a function of the user's own
		return array.Concatenate(c.Value.Chunks(), GetAllocator(ctx))
	}
	return out.(*ArrayDatum).MakeArray(), nil
}
