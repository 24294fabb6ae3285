package golden

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"

	"github.com/broadhead-go/broadhead/compute"
)

// compareDatums tells how got differs from want, or returns nil. The type,
// the validity and the valid values count; how a chunked result is chunked,
// and bytes under nulls, do not.
func compareDatums(want, got compute.Datum, tolerance string) error {
	tol, err := parseTolerance(tolerance)
	if err != nil {
		return err
	}
	if wt, ok := want.(*compute.TableDatum); ok {
		return compareTables(wt.Value, got, tol)
	}
	w, err := columnOf(want)
	if err != nil {
		return err
	}
	g, err := columnOf(got)
	if err != nil {
		return err
	}
	wk, gk := want.Kind(), got.Kind()
	if wk != gk && (wk != compute.KindChunked || gk != compute.KindArray) {
		return fmt.Errorf("got a %s, want a %s", gk, wk)
	}
	return compareColumns(w, g, tol)
}

func columnOf(d compute.Datum) (column, error) {
	switch d := d.(type) {
	case *compute.ScalarDatum:
		return scalarColumn(d.Value)
	case *compute.ArrayDatum:
		arr := array.MakeFromData(d.Value)
		return newColumn(arr.DataType(), []arrow.Array{arr}), nil
	case *compute.ChunkedDatum:
		return newColumn(d.Value.DataType(), d.Value.Chunks()), nil
	case nil:
		return column{}, fmt.Errorf("no result")
	}
	return column{}, fmt.Errorf("result of kind %s", d.Kind())
}

func compareTables(want arrow.Table, got compute.Datum, tol tolerance) error {
	var have arrow.Table
	switch d := got.(type) {
	case *compute.TableDatum:
		have = d.Value
	case *compute.RecordDatum:
		have = array.NewTableFromRecords(d.Value.Schema(), []arrow.RecordBatch{d.Value})
	default:
		return fmt.Errorf("got a %v, want a table", got.Kind())
	}
	if have.NumCols() != want.NumCols() || have.NumRows() != want.NumRows() {
		return fmt.Errorf("got %d columns, %d rows, want %d columns, %d rows", have.NumCols(), have.NumRows(), want.NumCols(), want.NumRows())
	}
	for i := range int(want.NumCols()) {
		w, h := want.Column(i), have.Column(i)
		if w.Name() != h.Name() {
			return fmt.Errorf("column %d: got name %q, want %q", i, h.Name(), w.Name())
		}
		err := compareColumns(newColumn(w.DataType(), w.Data().Chunks()), newColumn(h.DataType(), h.Data().Chunks()), tol)
		if err != nil {
			return fmt.Errorf("column %q: %w", w.Name(), err)
		}
	}
	return nil
}

func compareColumns(want, got column, tol tolerance) error {
	if !arrow.TypeEqual(want.typ, got.typ) {
		return fmt.Errorf("got type %s, want %s", got.typ, want.typ)
	}
	if len(want.cells) != len(got.cells) {
		return fmt.Errorf("got %d rows, want %d", len(got.cells), len(want.cells))
	}
	for i, w := range want.cells {
		if g := got.cells[i]; !equalCells(w, g, tol) {
			return fmt.Errorf("row %d: got %s, want %s", i, g, w)
		}
	}
	return nil
}

func (c cell) String() string {
	if isNull(c.arr, c.row) {
		return "null"
	}
	return c.arr.ValueStr(c.row)
}

// equalCells compares two rows of the same type. Nested values are taken
// apart so that tolerance and NaN hold for every float leaf.
func equalCells(want, got cell, tol tolerance) bool {
	if wn, gn := isNull(want.arr, want.row), isNull(got.arr, got.row); wn || gn {
		return wn == gn
	}
	switch w := want.arr.(type) {
	case *array.Float16:
		return tol.float16(w.Value(want.row), got.arr.(*array.Float16).Value(got.row))
	case *array.Float32:
		return tol.float32(w.Value(want.row), got.arr.(*array.Float32).Value(got.row))
	case *array.Float64:
		return tol.float64(w.Value(want.row), got.arr.(*array.Float64).Value(got.row))
	case *array.Dictionary:
		g := got.arr.(*array.Dictionary)
		return equalCells(cell{w.Dictionary(), w.GetValueIndex(want.row)}, cell{g.Dictionary(), g.GetValueIndex(got.row)}, tol)
	case *array.Struct:
		g := got.arr.(*array.Struct)
		for i := range w.NumField() {
			if !equalCells(cell{w.Field(i), want.row}, cell{g.Field(i), got.row}, tol) {
				return false
			}
		}
		return true
	case array.ListLike:
		g := got.arr.(array.ListLike)
		ws, we := w.ValueOffsets(want.row)
		gs, ge := g.ValueOffsets(got.row)
		if we-ws != ge-gs {
			return false
		}
		for i := range int(we - ws) {
			if !equalCells(cell{w.ListValues(), int(ws) + i}, cell{g.ListValues(), int(gs) + i}, tol) {
				return false
			}
		}
		return true
	}
	return array.SliceEqual(want.arr, int64(want.row), int64(want.row)+1, got.arr, int64(got.row), int64(got.row)+1)
}

// tolerance is "exact" when both parts are zero.
type tolerance struct {
	ulp int64
	rel float64
}

func parseTolerance(s string) (tolerance, error) {
	kind, num, _ := strings.Cut(s, ":")
	switch kind {
	case "exact":
		return tolerance{}, nil
	case "ulp":
		n, err := strconv.ParseInt(num, 10, 64)
		return tolerance{ulp: n}, err
	case "rel":
		x, err := strconv.ParseFloat(num, 64)
		return tolerance{rel: x}, err
	}
	return tolerance{}, fmt.Errorf("tolerance %q", s)
}

func (t tolerance) float64(want, got float64) bool {
	bits := func(v float64) int64 { return ordered(int64(math.Float64bits(v)), math.MinInt64) }
	return t.equal(want, got, math.Float64bits(want) == math.Float64bits(got), bits(want), bits(got))
}

func (t tolerance) float32(want, got float32) bool {
	bits := func(v float32) int64 { return ordered(int64(int32(math.Float32bits(v))), math.MinInt32) }
	return t.equal(float64(want), float64(got), math.Float32bits(want) == math.Float32bits(got), bits(want), bits(got))
}

func (t tolerance) float16(want, got float16.Num) bool {
	bits := func(v float16.Num) int64 { return ordered(int64(int16(v.Uint16())), math.MinInt16) }
	return t.equal(float64(want.Float32()), float64(got.Float32()), want.Uint16() == got.Uint16(), bits(want), bits(got))
}

// ordered maps a float's bits, sign-extended, to integers in the floats'
// order, one apart for neighbours and equal for the two zeros.
func ordered(bits, lowest int64) int64 {
	if bits < 0 {
		return lowest - bits
	}
	return bits
}

func (t tolerance) equal(want, got float64, same bool, wantBits, gotBits int64) bool {
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		return math.IsNaN(want) && math.IsNaN(got)
	case same:
		return true
	case math.IsInf(want, 0) || math.IsInf(got, 0):
		return false
	case t.rel > 0:
		return math.Abs(got-want) <= t.rel*max(1, math.Abs(want))
	case t.ulp > 0:
		d := wantBits - gotBits
		if (wantBits < 0) != (gotBits < 0) {
			// Opposite signs: the distance may not fit 64 bits.
			return float64(wantBits)-float64(gotBits) <= float64(t.ulp) && float64(gotBits)-float64(wantBits) <= float64(t.ulp)
		}
		return d <= t.ulp && -d <= t.ulp
	}
	return false
}
