package compute_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

// What follows is answered wrongly by arrow-go v18.8.0.

// A timestamp in microseconds plus a duration in seconds counts seconds, keeps the finer unit, and leaves alone the type
// that all timestamps of arrow-go share.
func TestTimestampPlusDurationUnits(t *testing.T) {
	us, s := arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Duration_s
	before := us.String()
	ts := array.NewTimestampBuilder(memory.DefaultAllocator, us.(*arrow.TimestampType))
	defer ts.Release()
	ts.Append(5)
	d := array.NewDurationBuilder(memory.DefaultAllocator, s.(*arrow.DurationType))
	defer d.Release()
	d.Append(3)
	a, b := ts.NewArray(), d.NewArray()
	defer a.Release()
	defer b.Release()
	for range 2 { // the second answer does not depend on the first
		for _, args := range [][]arrow.Array{{a, b}, {b, a}} {
			out, err := compute.Add(onCPU(), compute.ArithmeticOptions{}, borrowed(args...)[0], borrowed(args...)[1])
			if err != nil {
				t.Fatal(err)
			}
			got := out.(*compute.ArrayDatum).MakeArray()
			if !arrow.TypeEqual(got.DataType(), us) || got.(*array.Timestamp).Value(0) != 3_000_005 {
				t.Errorf("got %s of %s", got, got.DataType())
			}
			got.Release()
			out.Release()
		}
	}
	if us.String() != before || a.DataType().String() != before {
		t.Errorf("the shared type is now %s", us)
	}
}

// Slices at odd offsets have their own validity.
func TestSlicedNullsAndNot(t *testing.T) {
	whole := testBools(40)
	defer whole.Release()
	for _, offset := range []int64{1, 3, 5, 7, 8, 13} {
		s := array.NewSlice(whole, offset, offset+20).(*array.Boolean)
		defer s.Release()
		for _, f := range []string{"is_not_null", "is_null", "not"} {
			out, err := compute.CallFunction(onCPU(), f, nil, compute.NewDatumWithoutOwning(s))
			if err != nil {
				t.Fatal(err)
			}
			got := out.(*compute.ArrayDatum).MakeArray().(*array.Boolean)
			for i := range s.Len() {
				want := s.IsValid(i)
				switch f {
				case "is_null":
					want = !want
				case "not":
					if got.IsNull(i) != s.IsNull(i) {
						t.Errorf("not, offset %d, row %d: null is %t", offset, i, got.IsNull(i))
					}
					want = !s.Value(i)
				}
				if got.IsValid(i) && got.Value(i) != want {
					t.Errorf("%s, offset %d, row %d: got %t", f, offset, i, got.Value(i))
				}
			}
			got.Release()
			out.Release()
		}
	}
}

func TestCheckedInt8Overflow(t *testing.T) {
	b := array.NewInt8Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(-128)
	least := b.NewArray()
	defer least.Release()
	b.Append(0)
	zero := b.NewArray()
	defer zero.Release()
	b.Append(-1)
	minusOne := b.NewArray()
	defer minusOne.Release()
	for _, c := range []struct {
		function string
		a, b     arrow.Array
		wrapped  int8
	}{
		{"sub", zero, least, -128}, {"divide", least, minusOne, 0}, {"multiply", least, minusOne, -128}, {"add", least, least, 0},
	} {
		if _, err := compute.CallFunction(onCPU(), c.function, nil, borrowed(c.a, c.b)...); !errors.Is(err, arrow.ErrInvalid) {
			t.Errorf("%s of %s and %s: %v, want an overflow", c.function, c.a, c.b, err)
		}
		out, err := compute.CallFunction(onCPU(), c.function+"_unchecked", nil, borrowed(c.a, c.b)...)
		if err != nil {
			t.Fatal(err)
		}
		arr := out.(*compute.ArrayDatum).MakeArray().(*array.Int8)
		if arr.Value(0) != c.wrapped {
			t.Errorf("%s_unchecked: got %d, want %d", c.function, arr.Value(0), c.wrapped)
		}
		arr.Release()
		out.Release()
	}
}

// fromIPC writes a record batch and reads it again: empty columns come without an offsets buffer.
func fromIPC(t *testing.T, rec arrow.RecordBatch) arrow.RecordBatch {
	t.Helper()
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(&buf)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal("no batch")
	}
	out := r.RecordBatch()
	out.Retain()
	return out
}

// Empty strings from IPC end arrow-go's process by a panic on a goroutine of its own.
func TestEmptyStringsFromIPC(t *testing.T) {
	text := arrow.BinaryTypes.String
	for _, typ := range []arrow.DataType{
		text, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeBinary, arrow.ListOf(text),
		arrow.StructOf(arrow.Field{Name: "s", Type: text, Nullable: true}), arrow.FixedSizeListOf(2, text),
	} {
		t.Run(typ.String(), func(t *testing.T) {
			schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: typ, Nullable: true}, {Name: "m", Type: arrow.FixedWidthTypes.Boolean}}, nil)
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			defer b.Release()
			built := b.NewRecordBatch()
			defer built.Release()
			rec := fromIPC(t, built)
			defer rec.Release()
			x, mask := rec.Column(0), rec.Column(1)
			for _, f := range []string{"filter", "array_filter"} {
				out, err := compute.CallFunction(onCPU(), f, nil, borrowed(x, mask)...)
				if err != nil {
					t.Fatalf("%s: %v", f, err)
				}
				if n := out.Len(); n != 0 {
					t.Errorf("%s: %d rows", f, n)
				}
				out.Release()
			}
			out, err := compute.FilterRecordBatch(onCPU(), rec, mask, nil)
			if err != nil {
				t.Fatal(err)
			}
			out.Release()
			if typ.ID() == arrow.STRING || typ.ID() == arrow.BINARY {
				for _, args := range [][]compute.Datum{
					borrowed(x, x), append(borrowed(x), compute.NewDatum(scalar.MakeNullScalar(typ))),
				} {
					eq, err := compute.CallFunction(onCPU(), "equal", nil, args...)
					if err != nil {
						t.Fatal(err)
					}
					eq.Release()
				}
			}
			n, err := compute.CallFunction(onCPU(), "count", nil, borrowed(x)...)
			if err != nil || n.String() != "0" {
				t.Errorf("count: %v, %v", n, err)
			}
		})
	}
}

// Fixed-size binaries compare by their own rows, also on slices.
func TestFixedSizeBinaryOnSlices(t *testing.T) {
	b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: 3})
	defer b.Release()
	for i := range 30 {
		if i%7 == 2 {
			b.AppendNull()
			continue
		}
		b.Append(fmt.Appendf(nil, "%03d", i))
	}
	whole := b.NewArray()
	defer whole.Release()
	left, right := array.NewSlice(whole, 3, 23), array.NewSlice(whole, 3, 23)
	defer left.Release()
	defer right.Release()
	for _, shift := range []int64{0, 1} {
		right := array.NewSlice(whole, 3+shift, 23+shift)
		defer right.Release()
		out, err := compute.EqualArray(onCPU(), left, right)
		if err != nil {
			t.Fatal(err)
		}
		for i := range out.Len() {
			null := left.IsNull(i) || right.IsNull(i)
			if out.IsNull(i) != null || !null && out.(*array.Boolean).Value(i) != (shift == 0) {
				t.Errorf("shift %d, row %d: %s", shift, i, out.ValueStr(i))
			}
		}
		out.Release()
	}
}

// Means of integers do not wrap, and null-typed columns are null throughout.
func TestWideMeanAndNullType(t *testing.T) {
	big := testInts(memory.DefaultAllocator, 1<<62, 1<<62, 1<<62, 1<<62)
	defer big.Release()
	m, err := compute.MeanArray(onCPU(), nil, big)
	if err != nil || m.(*scalar.Float64).Value != 1<<62 {
		t.Errorf("mean: %v, %v", m, err)
	}
	nulls := array.NewNull(5)
	defer nulls.Release()
	for f, want := range map[string]bool{"is_null": true, "is_not_null": false} {
		out, err := compute.CallFunction(onCPU(), f, nil, borrowed(nulls)...)
		if err != nil {
			t.Fatal(err)
		}
		arr := out.(*compute.ArrayDatum).MakeArray().(*array.Boolean)
		for i := range arr.Len() {
			if arr.IsNull(i) || arr.Value(i) != want {
				t.Errorf("%s: row %d is %s", f, i, arr.ValueStr(i))
			}
		}
		arr.Release()
		out.Release()
	}
}
