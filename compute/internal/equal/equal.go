// Package equal compares results as Broadhead defines equal: type, length, validity, and valid values bit for bit,
// except that any NaN equals any NaN. What lies under nulls and in padding does not count, nor does chunking.
package equal

import (
	"bytes"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Datums says how two datums differ first, or returns nil.
func Datums(got, want ac.Datum) error {
	if got.Kind() != want.Kind() {
		return fmt.Errorf("got a %s, want a %s", got.Kind(), want.Kind())
	}
	switch w := want.(type) {
	case *ac.ScalarDatum:
		return Scalars(got.(*ac.ScalarDatum).Value, w.Value)
	case *ac.ArrayDatum:
		a, b := got.(*ac.ArrayDatum).MakeArray(), w.MakeArray()
		defer a.Release()
		defer b.Release()
		return Arrays(a, b)
	case *ac.ChunkedDatum:
		return chunks(got.(*ac.ChunkedDatum).Value, w.Value)
	case *ac.RecordDatum:
		return records(got.(*ac.RecordDatum).Value, w.Value)
	case *ac.TableDatum:
		return tables(got.(*ac.TableDatum).Value, w.Value)
	}
	return fmt.Errorf("cannot compare %s", want.Kind())
}

// Scalars compares two scalars.
func Scalars(got, want scalar.Scalar) error {
	if !arrow.TypeEqual(got.DataType(), want.DataType()) {
		return fmt.Errorf("got type %s, want %s", got.DataType(), want.DataType())
	}
	a, err := scalar.MakeArrayFromScalar(got, 1, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	defer a.Release()
	b, err := scalar.MakeArrayFromScalar(want, 1, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	defer b.Release()
	return Arrays(a, b)
}

func chunks(got, want *arrow.Chunked) error {
	if !arrow.TypeEqual(got.DataType(), want.DataType()) {
		return fmt.Errorf("got type %s, want %s", got.DataType(), want.DataType())
	}
	a, err := whole(got)
	if err != nil {
		return err
	}
	defer a.Release()
	b, err := whole(want)
	if err != nil {
		return err
	}
	defer b.Release()
	return Arrays(a, b)
}

func whole(c *arrow.Chunked) (arrow.Array, error) {
	if len(c.Chunks()) == 0 {
		return array.MakeArrayOfNull(memory.DefaultAllocator, c.DataType(), 0), nil
	}
	return array.Concatenate(c.Chunks(), memory.DefaultAllocator)
}

func records(got, want arrow.RecordBatch) error {
	if !got.Schema().Equal(want.Schema()) || got.NumRows() != want.NumRows() {
		return fmt.Errorf("got %d rows of %s, want %d of %s", got.NumRows(), got.Schema(), want.NumRows(), want.Schema())
	}
	for i, c := range want.Columns() {
		if err := Arrays(got.Column(i), c); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

func tables(got, want arrow.Table) error {
	if !got.Schema().Equal(want.Schema()) || got.NumRows() != want.NumRows() {
		return fmt.Errorf("got %d rows of %s, want %d of %s", got.NumRows(), got.Schema(), want.NumRows(), want.Schema())
	}
	for i := range int(want.NumCols()) {
		if err := chunks(got.Column(i).Data(), want.Column(i).Data()); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// Arrays compares two arrays.
func Arrays(got, want arrow.Array) error {
	switch {
	case !arrow.TypeEqual(got.DataType(), want.DataType()):
		return fmt.Errorf("got type %s, want %s", got.DataType(), want.DataType())
	case got.Len() != want.Len():
		return fmt.Errorf("got %d rows, want %d", got.Len(), want.Len())
	case got.NullN() != want.NullN():
		return fmt.Errorf("got %d nulls, want %d", got.NullN(), want.NullN())
	}
	for i := range want.Len() {
		switch {
		case got.IsNull(i) != want.IsNull(i):
			return fmt.Errorf("row %d: got null %t, want %t", i, got.IsNull(i), want.IsNull(i))
		case want.IsNull(i):
		case !rows(got, want, i):
			return fmt.Errorf("row %d: got %s, want %s", i, got.ValueStr(i), want.ValueStr(i))
		}
	}
	return nil
}

// rows compares one valid row.
func rows(got, want arrow.Array, i int) bool {
	switch w := want.(type) {
	case *array.Float32:
		g := got.(*array.Float32).Value(i)
		return sameBits(float64(g), float64(w.Value(i)))
	case *array.Float64:
		return sameBits(got.(*array.Float64).Value(i), w.Value(i))
	case *array.Boolean:
		return got.(*array.Boolean).Value(i) == w.Value(i)
	case *array.Struct:
		g := got.(*array.Struct)
		for f := range w.NumField() {
			a, b := g.Field(f), w.Field(f)
			if a.IsNull(i) != b.IsNull(i) || b.IsValid(i) && !rows(a, b, i) {
				return false
			}
		}
		return true
	case *array.Dictionary:
		g := got.(*array.Dictionary)
		return g.Dictionary().ValueStr(g.GetValueIndex(i)) == w.Dictionary().ValueStr(w.GetValueIndex(i))
	}
	if t, ok := want.DataType().(arrow.FixedWidthDataType); ok && t.BitWidth()%8 == 0 && len(want.Data().Buffers()) == 2 {
		n := t.BitWidth() / 8
		return bytes.Equal(valueBytes(got, i, n), valueBytes(want, i, n))
	}
	return got.ValueStr(i) == want.ValueStr(i)
}

func valueBytes(a arrow.Array, i, n int) []byte {
	at := (a.Data().Offset() + i) * n
	return a.Data().Buffers()[1].Bytes()[at : at+n]
}

func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}
