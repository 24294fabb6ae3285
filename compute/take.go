package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/compute/internal/selection"
	"github.com/broadhead-go/broadhead/msl"
)

// takeFunction takes rows of arrays, chunked arrays, record batches and tables.
func takeFunction() *function {
	return &function{
		kind: ac.FuncVector, arity: Arity{NArgs: 2}, opts: ac.DefaultTakeOptions(),
		check:   func(args []Datum) error { return checkTake(args[0], args[1]) },
		resolve: resolveTake,
		tables:  takeTables,
	}
}

// checkTake refuses scalars.
func checkTake(values, indices Datum) error {
	switch k := indices.Kind(); {
	case values.Kind() == ac.KindScalar, k != ac.KindArray && k != ac.KindChunked:
		return fmt.Errorf("%w: unsupported types for take operation: values=%s, indices=%s",
			arrow.ErrNotImplemented, values.Kind(), k)
	}
	return nil
}

func resolveTake(opts FunctionOptions, in []arrow.DataType) (*call, error) {
	// Indices are checked in any case: it costs nothing beside the memory, and what is out of bounds has no answer.
	if _, err := optionsOf("take", opts, ac.DefaultTakeOptions); err != nil {
		return nil, err
	}
	if !arrow.IsInteger(in[1].ID()) {
		return nil, fmt.Errorf("%w: take indices must be integers, got %s", arrow.ErrNotImplemented, in[1])
	}
	kernel, index := movedAs(in[0]), storage(in[1])
	c := &call{
		out: in[0], in: kernel, ins: [maxArgs]msl.Type{kernel, index}, cross: crossTake,
		admit: admitKey{op: "take", in: kernel, out: index},
		nulls: func(args []bool) bool { return args[0] || args[1] },
		cpu: func(ctx context.Context, args []Datum) (Datum, error) {
			return takeDatum(ctx, args[0], args[1])
		},
	}
	if kernel == msl.NoType {
		c.noGPU = fmt.Sprintf("no GPU kernel for %s", in[0])
		return c, nil
	}
	c.gpu = func(r *recorder, args []*value) (*value, error) { return recordTake(r, args[0], args[1], kernel) }
	return c, nil
}

// takeDatum takes on the CPU. The result is chunked as the indices are, and as one chunk where only the values are. Chunks
// of strings have no empty ones among them.
func takeDatum(ctx context.Context, values, indices Datum) (Datum, error) {
	fv, _ := formOf(values)
	fi, _ := formOf(indices)
	t := values.(ArrayLikeDatum).Type()
	src, err := whole(ctx, chunksOf(values), t)
	if err != nil {
		return nil, err
	}
	defer src.Release()
	out := make([]arrow.ArrayData, 0, 1)
	defer func() {
		for _, d := range out {
			d.Release()
		}
	}()
	for _, chunk := range chunksOf(indices) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if chunk.Len() == 0 && fi == formChunked && arrow.IsBaseBinary(t.ID()) {
			continue
		}
		d, err := take(ctx, src, chunk)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return assemble(t, max(fv, fi), out), nil
}

// take takes the rows of values that one chunk of indices names.
func take(ctx context.Context, values, indices arrow.ArrayData) (arrow.ArrayData, error) {
	at, err := columnOf(indices, storage(indices.DataType()), false)
	if err != nil {
		return nil, err
	}
	var data []byte
	if at.n > 0 {
		data = at.data(0)
	}
	rows := selection.Indices(data, widths[at.typ], !isUnsigned(at.typ), at.valid, at.n)
	p := pickerOf(ctx)
	if selection.Width(values.DataType()) < 0 {
		if err := rows.Check(p.Workers, values.Len()); err != nil {
			return nil, err
		}
	}
	return p.Pick(values, rows)
}

// whole is the rows of chunks as one, to be released.
func whole(ctx context.Context, chunks []arrow.ArrayData, t arrow.DataType) (arrow.ArrayData, error) {
	var full []arrow.ArrayData
	for _, c := range chunks {
		if err := selection.CheckRows(c); err != nil {
			return nil, err
		}
		if c.Len() > 0 {
			full = append(full, c)
		}
	}
	switch {
	case len(full) == 1:
		full[0].Retain()
		return full[0], nil
	case len(full) == 0 && len(chunks) > 0:
		chunks[0].Retain() // an empty one knows its dictionary
		return chunks[0], nil
	case len(full) == 0:
		return emptyData(t), nil
	}
	arrs := make([]arrow.Array, len(full))
	for i, c := range full {
		arrs[i] = array.MakeFromData(c)
		defer arrs[i].Release()
	}
	ctx, failed := guarded(ctx)
	one, err := array.Concatenate(arrs, GetAllocator(ctx))
	if err != nil {
		return nil, fmt.Errorf("%w: chunks of %s cannot be put together: %w", arrow.ErrNotImplemented, t, err)
	}
	defer one.Release()
	if err := failed(); err != nil {
		return nil, err
	}
	one.Data().Retain()
	return one.Data(), nil
}

// Take gives the rows of values that indices number, from 0, in the order of the indices and as often as these name them.
// Values are an array, chunks, a record batch or a table of any type; indices are an array or chunks of any integer type.
// The result is chunked as the indices are; of values in chunks it is one chunk if the indices are an array.
//
// A null index gives a null. Dictionaries, and the values behind views of strings and lists, stay as they are. An index
// that is negative or not below the number of rows is arrow.ErrIndex, whatever options.BoundsCheck says. A scalar, or
// indices that are no integers, are arrow.ErrNotImplemented. The result belongs to the caller.
//
// The GPU is used from the crossover on for Bool and for values of 1, 2, 4 and 8 bytes in one chunk.
func Take(ctx context.Context, options TakeOptions, values, indices Datum) (Datum, error) {
	return CallFunction(ctx, "take", &options, values, indices)
}

// TakeArray is [Take] for arrays, with default options. The caller releases the result.
func TakeArray(ctx context.Context, values, indices arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "array_take", nil, values, indices)
}

// TakeArrayOpts is [Take] for arrays. The caller releases the result.
func TakeArrayOpts(ctx context.Context, values, indices arrow.Array, options TakeOptions) (arrow.Array, error) {
	return callArrays(ctx, "array_take", &options, values, indices)
}
