package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
)

// takeTables takes rows of a record batch or a table, column by column.
func takeTables(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	if err := checkTake(args[0], args[1]); err != nil {
		return nil, err
	}
	indices := args[1].(ArrayLikeDatum)
	if !arrow.IsInteger(indices.Type().ID()) {
		return nil, fmt.Errorf("%w: take indices must be integers, got %s", arrow.ErrNotImplemented, indices.Type())
	}
	switch v := args[0].(type) {
	case *ac.RecordDatum:
		return takeRecord(ctx, v.Value, indices, opts)
	case *ac.TableDatum:
		return takeTable(ctx, v.Value, indices, opts)
	}
	return nil, fmt.Errorf("%w: take does not take from a %s", arrow.ErrNotImplemented, args[0].Kind())
}

func takeRecord(ctx context.Context, rec arrow.RecordBatch, indices ArrayLikeDatum, opts FunctionOptions) (Datum, error) {
	one, err := whole(ctx, chunksOf(indices), indices.Type())
	if err != nil {
		return nil, err
	}
	defer one.Release()
	cols := make([]arrow.Array, 0, rec.NumCols())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for _, c := range rec.Columns() {
		out, err := functions["take"].Execute(ctx, opts, NewDatumWithoutOwning(c), &ac.ArrayDatum{Value: one})
		if err != nil {
			return nil, err
		}
		cols = append(cols, out.(*ac.ArrayDatum).MakeArray())
		out.Release()
	}
	return &ac.RecordDatum{Value: array.NewRecordBatch(rec.Schema(), cols, indices.Len())}, nil
}

func takeTable(ctx context.Context, tbl arrow.Table, indices Datum, opts FunctionOptions) (Datum, error) {
	cols := make([]arrow.Column, 0, tbl.NumCols())
	defer func() {
		for i := range cols {
			cols[i].Release()
		}
	}()
	for i := range int(tbl.NumCols()) {
		out, err := functions["take"].Execute(ctx, opts, NewDatumWithoutOwning(tbl.Column(i).Data()), indices)
		if err != nil {
			return nil, err
		}
		cols = append(cols, *arrow.NewColumn(tbl.Schema().Field(i), out.(*ac.ChunkedDatum).Value))
		out.Release()
	}
	return &ac.TableDatum{Value: array.NewTable(tbl.Schema(), cols, indices.Len())}, nil
}
