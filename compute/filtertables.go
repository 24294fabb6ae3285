package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// filterTables filters a record batch or a table column by column; on a device all columns share one selection.
func filterTables(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	o, err := optionsOf("filter", opts, ac.DefaultFilterOptions)
	if err != nil {
		return nil, err
	}
	mask, ok := args[1].(ArrayLikeDatum)
	if !ok || args[1].Kind() == ac.KindScalar {
		return nil, errMaskScalar
	}
	if mask.Type().ID() != arrow.BOOL {
		return nil, fmt.Errorf("%w: filter argument must be boolean type, got %s", arrow.ErrNotImplemented, mask.Type())
	}
	if args[0].Len() != mask.Len() {
		return nil, fmt.Errorf("%w: filter inputs must all be the same length, got %d and %d",
			arrow.ErrInvalid, args[0].Len(), mask.Len())
	}
	switch v := args[0].(type) {
	case *ac.RecordDatum:
		if mask.Kind() != ac.KindArray {
			return nil, fmt.Errorf("%w: record batches are filtered by an array", arrow.ErrNotImplemented)
		}
		return filterRecord(ctx, v.Value, mask, o)
	case *ac.TableDatum:
		return filterTable(ctx, v.Value, mask, o)
	}
	return nil, fmt.Errorf("%w: filter does not take a %s", arrow.ErrNotImplemented, args[0].Kind())
}

func filterRecord(ctx context.Context, rec arrow.RecordBatch, mask Datum, o *FilterOptions) (Datum, error) {
	cols := make([]Datum, rec.NumCols())
	for i := range cols {
		cols[i] = NewDatumWithoutOwning(rec.Column(i))
	}
	out, rows, err := filterColumns(ctx, cols, mask, o)
	if err != nil {
		return nil, err
	}
	defer releaseAll(out)
	arrs := make([]arrow.Array, len(out))
	for i, d := range out {
		arrs[i] = d.(*ac.ArrayDatum).MakeArray()
		defer arrs[i].Release()
	}
	return &ac.RecordDatum{Value: array.NewRecordBatch(rec.Schema(), arrs, rows)}, nil
}

func filterTable(ctx context.Context, tbl arrow.Table, mask Datum, o *FilterOptions) (Datum, error) {
	cols := make([]Datum, tbl.NumCols())
	for i := range cols {
		cols[i] = NewDatumWithoutOwning(tbl.Column(i).Data())
	}
	out, rows, err := filterColumns(ctx, cols, mask, o)
	if err != nil {
		return nil, err
	}
	defer releaseAll(out)
	columns := make([]arrow.Column, len(out))
	for i, d := range out {
		columns[i] = *arrow.NewColumn(tbl.Schema().Field(i), d.(*ac.ChunkedDatum).Value)
		defer columns[i].Release()
	}
	return &ac.TableDatum{Value: array.NewTable(tbl.Schema(), columns, rows)}, nil
}

func releaseAll(ds []Datum) {
	for _, d := range ds {
		if d != nil {
			d.Release()
		}
	}
}

// filterColumns filters columns by one mask and counts the rows kept.
func filterColumns(ctx context.Context, cols []Datum, mask Datum, o *FilterOptions) (_ []Datum, rows int64, err error) {
	out := make([]Datum, len(cols))
	defer func() {
		if err != nil {
			releaseAll(out)
		}
	}()
	if err := filterOnDevice(ctx, cols, mask, o, out); err != nil {
		return nil, 0, err
	}
	for i, c := range cols {
		if out[i] != nil {
			continue
		}
		if out[i], err = functions["filter"].Execute(ctx, o, c, mask); err != nil {
			return nil, 0, err
		}
	}
	if len(out) > 0 {
		return out, out[0].Len(), nil
	}
	masks, err := columnsOf(mask, msl.Bool, false)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range masks {
		var sel cpu.Selection
		sel.Select(m.bits(), m.valid, m.n, o.NullSelection == ac.SelectionEmitNulls, workersOf(ctx))
		rows += int64(sel.Count())
	}
	return out, rows, nil
}
