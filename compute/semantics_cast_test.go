package compute_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

// The error names the first valid value that is lost, in arrow-go's words, on every path.
func TestCastErrors(t *testing.T) {
	ints := array.NewInt64Builder(memory.DefaultAllocator)
	floats := array.NewFloat64Builder(memory.DefaultAllocator)
	for i := range 5000 {
		ints.Append(int64(i % 100))
		floats.Append(float64(i % 100))
		if i%1000 == 999 { // after null 1, null 2 and so on
			ints.AppendValues([]int64{-1 << 40, 1<<53 + int64(i)}, []bool{false, i > 2500})
			floats.AppendValues([]float64{math.NaN(), 0.25 + float64(i)}, []bool{false, i > 2500})
		}
	}
	a, f := ints.NewArray(), floats.NewArray()
	defer a.Release()
	defer f.Release()
	for path, ctx := range pathsOf(t) {
		for _, c := range []struct {
			arr  arrow.Array
			to   arrow.DataType
			want string
		}{
			{a, arrow.PrimitiveTypes.Int8, "invalid: integer value 9007199254743991 not in range: -128 to 127"},
			{a, arrow.PrimitiveTypes.Uint32, "invalid: integer value 9007199254743991 not in range: 0 to 4294967295"},
			{a, arrow.PrimitiveTypes.Float64, "invalid: integer value 9007199254743991 not in range: -9007199254740992 to 9007199254740992"},
			{f, arrow.PrimitiveTypes.Int32, "invalid: float value 2999.250000 was truncated converting to int32"},
		} {
			for _, sliced := range []int64{0, 13} {
				s := array.NewSlice(c.arr, sliced, int64(c.arr.Len()))
				out, err := compute.CastToType(ctx, s, c.to)
				if err == nil {
					out.Release()
				}
				if !errors.Is(err, arrow.ErrInvalid) || err.Error() != c.want {
					t.Errorf("%s, %s to %s: error %v, want %q", path, s.DataType(), c.to, err, c.want)
				}
				s.Release()
			}
		}
	}
}

// A cast that changes nothing but the type copies nothing.
func TestCastSharesMemory(t *testing.T) {
	arr := testInts(memory.DefaultAllocator, 1, 2, 3)
	defer arr.Release()
	s := array.NewSlice(arr, 1, 3)
	defer s.Release()
	for _, to := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Duration_s, arrow.FixedWidthTypes.Time64ns} {
		out, err := compute.CastToType(onCPU(), s, to)
		if err != nil {
			t.Fatal(err)
		}
		if !arrow.TypeEqual(out.DataType(), to) || out.Data().Buffers()[1] != arr.Data().Buffers()[1] || out.Len() != 2 {
			t.Errorf("%s: %s of %s", to, out, out.DataType())
		}
		back, err := compute.CastToType(onCPU(), out, arrow.PrimitiveTypes.Int64)
		if err != nil {
			t.Fatal(err)
		}
		if !array.Equal(back, s) {
			t.Errorf("%s and back: %s", to, back)
		}
		back.Release()
		out.Release()
	}
}

// In a batch such a cast does not keep the calls around it from the device.
func TestCastInBatch(t *testing.T) {
	whole := counting(memory.DefaultAllocator, 500)
	defer whole.Release()
	ints := array.NewSlice(whole, 3, 500)
	defer ints.Release()
	for path, ctx := range pathsOf(t) {
		b := compute.NewBatch(ctx)
		us := b.Call("cast", compute.SafeCastOptions(arrow.FixedWidthTypes.Timestamp_us), ints)
		again := b.Call("cast", compute.SafeCastOptions(arrow.FixedWidthTypes.Timestamp_us), us)
		back := b.Call("cast", compute.SafeCastOptions(arrow.PrimitiveTypes.Int64), again)
		small := b.Call("cast", compute.SafeCastOptions(arrow.PrimitiveTypes.Float32), back)
		flags := b.Call("cast", compute.SafeCastOptions(arrow.FixedWidthTypes.Boolean), b.Call("greater", nil, small, 250))
		before := castRuns(path)
		if err := b.Run(); err != nil {
			t.Fatal(path, err)
		}
		if n := castRuns(path) - before; path != "cpu" && n != 5 {
			t.Errorf("%s: %d casts ran there, want 5", path, n)
		}
		for _, c := range []struct {
			v    *compute.Value
			want arrow.DataType
		}{{us, arrow.FixedWidthTypes.Timestamp_us}, {again, arrow.FixedWidthTypes.Timestamp_us}, {back, arrow.PrimitiveTypes.Int64}, {small, arrow.PrimitiveTypes.Float32}, {flags, arrow.FixedWidthTypes.Boolean}} {
			d, err := c.v.Datum()
			if err != nil {
				t.Fatal(path, err)
			}
			arr := d.(*compute.ArrayDatum).MakeArray()
			if !arrow.TypeEqual(arr.DataType(), c.want) || arr.NullN() != ints.NullN() {
				t.Errorf("%s: %s with %d nulls, want %s with %d", path, arr.DataType(), arr.NullN(), c.want, ints.NullN())
			}
			if c.v == back && !array.Equal(arr, ints) {
				t.Errorf("%s: there and back: %s", path, arr)
			}
			arr.Release()
			d.Release()
		}
		b.Release()
	}
}

// castRuns counts the casts that a path has run.
func castRuns(path string) int64 {
	for _, s := range compute.Stats() {
		if s.Function == "cast" && s.Device == path {
			return s.Runs
		}
	}
	return 0
}

func TestCastBadOptions(t *testing.T) {
	arr := testInts(memory.DefaultAllocator, 1)
	defer arr.Release()
	var none *compute.CastOptions
	for _, opts := range []compute.FunctionOptions{nil, none, &compute.CastOptions{}, compute.CastOptions{}, &compute.FilterOptions{}} {
		if _, err := compute.CallFunction(onCPU(), "cast", opts, borrowed(arr)...); !errors.Is(err, arrow.ErrInvalid) {
			t.Errorf("options %#v: error %v", opts, err)
		}
	}
	if _, err := compute.CastToType(onCPU(), arr, arrow.ListOf(arrow.PrimitiveTypes.Int8)); !errors.Is(err, arrow.ErrNotImplemented) {
		t.Errorf("int64 to a list: error %v", err)
	}
	out, err := compute.CallFunction(onCPU(), "cast", *compute.SafeCastOptions(arrow.PrimitiveTypes.Int8), borrowed(arr)...)
	if err != nil {
		t.Fatal(err) // options may be a value
	}
	out.Release()
}

func TestCastScalars(t *testing.T) {
	for _, c := range []struct {
		in   scalar.Scalar
		to   arrow.DataType
		want scalar.Scalar
	}{
		{scalar.NewInt64Scalar(300), arrow.PrimitiveTypes.Int16, scalar.NewInt16Scalar(300)},
		{scalar.NewBooleanScalar(true), arrow.PrimitiveTypes.Float32, scalar.NewFloat32Scalar(1)},
		{scalar.NewFloat64Scalar(math.NaN()), arrow.FixedWidthTypes.Boolean, scalar.NewBooleanScalar(true)},
		{scalar.MakeNullScalar(arrow.PrimitiveTypes.Int64), arrow.PrimitiveTypes.Int8, scalar.MakeNullScalar(arrow.PrimitiveTypes.Int8)},
		{scalar.NewInt64Scalar(5), arrow.FixedWidthTypes.Timestamp_ms, scalar.NewTimestampScalar(5, arrow.FixedWidthTypes.Timestamp_ms)},
		{scalar.MakeNullScalar(arrow.PrimitiveTypes.Int64), arrow.FixedWidthTypes.Timestamp_ms, scalar.MakeNullScalar(arrow.FixedWidthTypes.Timestamp_ms)},
	} {
		out, err := compute.CastDatum(onCPU(), compute.NewDatum(c.in), compute.SafeCastOptions(c.to))
		if err != nil {
			t.Errorf("%s to %s: %v", c.in, c.to, err)
			continue
		}
		if got := out.(*compute.ScalarDatum).Value; !scalar.Equals(got, c.want) {
			t.Errorf("%s to %s: %s", c.in, c.to, got)
		}
	}
}

// A null scalar becomes a null of any type that arrow-go has scalars of; of others it is an error.
func TestCastNullScalars(t *testing.T) {
	for _, to := range []arrow.DataType{
		arrow.Null, arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Float16, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeBinary,
		arrow.BinaryTypes.StringView, arrow.BinaryTypes.BinaryView, &arrow.FixedSizeBinaryType{ByteWidth: 4},
		&arrow.Decimal32Type{Precision: 4}, &arrow.Decimal256Type{Precision: 40}, arrow.FixedWidthTypes.MonthDayNanoInterval,
		arrow.ListOf(arrow.BinaryTypes.StringView), arrow.ListViewOf(arrow.PrimitiveTypes.Int8), arrow.LargeListViewOf(arrow.PrimitiveTypes.Int8),
		arrow.StructOf(arrow.Field{Name: "v", Type: arrow.BinaryTypes.StringView}), arrow.SparseUnionOf(nil, nil), arrow.DenseUnionOf(nil, nil),
		arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8), arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.StringView},
	} {
		for _, from := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.LargeString} {
			out, err := compute.CastDatum(onCPU(), compute.NewDatum(scalar.MakeNullScalar(from)), compute.SafeCastOptions(to))
			switch {
			case err != nil && !errors.Is(err, arrow.ErrNotImplemented):
				t.Errorf("%s to %s: %v", from, to, err)
			case err == nil && out.(*compute.ScalarDatum).Value.IsValid():
				t.Errorf("%s to %s: %s", from, to, out)
			}
		}
	}
}

// What follows is answered wrongly by arrow-go v18.8.0.

// castsTo checks a cast's text.
func castsTo(t *testing.T, arr arrow.Array, opts *compute.CastOptions, want string) {
	t.Helper()
	for path, ctx := range pathsOf(t) {
		out, err := compute.CastArray(ctx, arr, opts)
		if err != nil {
			t.Errorf("%s: %s to %s: %v", path, arr, opts.ToType, err)
			continue
		}
		if got := out.String(); got != want {
			t.Errorf("%s: %s to %s: %s, want %s", path, arr, opts.ToType, got, want)
		}
		out.Release()
	}
}

func fromJSON(t *testing.T, typ arrow.DataType, text string) arrow.Array {
	t.Helper()
	arr, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return arr
}

// It fills int16 with the bytes of int8.
func TestCastToInt16(t *testing.T) {
	bools := fromJSON(t, arrow.FixedWidthTypes.Boolean, "[true, false, null, true]")
	defer bools.Release()
	castsTo(t, bools, compute.SafeCastOptions(arrow.PrimitiveTypes.Int16), "[1 0 (null) 1]")
	b := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 10, Scale: 0})
	defer b.Release()
	for _, v := range []int64{1, 300, -32768} {
		b.Append(decimal128.FromI64(v))
	}
	b.AppendNull()
	decimals := b.NewArray()
	defer decimals.Release()
	castsTo(t, decimals, compute.SafeCastOptions(arrow.PrimitiveTypes.Int16), "[1 300 -32768 (null)]")
	b.Append(decimal128.FromI64(32768))
	large := b.NewArray()
	defer large.Release()
	if _, err := compute.CastToType(onCPU(), large, arrow.PrimitiveTypes.Int16); !errors.Is(err, arrow.ErrInvalid) {
		t.Errorf("32768 as a decimal to int16: error %v", err)
	}
	castsTo(t, large, compute.UnsafeCastOptions(arrow.PrimitiveTypes.Int16), "[-32768]")
}

// It looks at the validity of other rows where floats are a slice, whether it complains or not.
func TestCastSlicedFloats(t *testing.T) {
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Float16} {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		defer b.Release()
		// 0.5 lies under the null
		values, valid := []float64{1, 2, 0.5, 4, 5}, []bool{true, true, false, true, true}
		switch b := b.(type) {
		case *array.Float32Builder:
			b.AppendValues([]float32{1, 2, 0.5, 4, 5}, valid)
		case *array.Float64Builder:
			b.AppendValues(values, valid)
		case *array.Float16Builder:
			for _, v := range values {
				b.Append(float16.New(float32(v)))
			}
		}
		arr := b.NewArray()
		defer arr.Release()
		if typ.ID() == arrow.FLOAT16 {
			bits := memory.NewBufferBytes([]byte{0b11011})
			d := array.NewData(typ, 5, []*memory.Buffer{bits, arr.Data().Buffers()[1]}, nil, 1, 0)
			defer d.Release()
			arr = array.MakeFromData(d)
			defer arr.Release()
		}
		s := array.NewSlice(arr, 1, 5)
		defer s.Release()
		castsTo(t, s, compute.SafeCastOptions(arrow.PrimitiveTypes.Int32), "[2 (null) 4 5]")
	}
}

// Floats that are just too large must not pass because the largest integer rounds to them.
func TestCastJustTooLarge(t *testing.T) {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	defer b.Release()
	for _, c := range []struct {
		v  float64
		to arrow.DataType
	}{{0x1p63, arrow.PrimitiveTypes.Int64}, {0x1p64, arrow.PrimitiveTypes.Uint64}, {-1, arrow.PrimitiveTypes.Uint64}, {-0x1p63 - 2048, arrow.PrimitiveTypes.Int64}} {
		for range 200 {
			b.Append(c.v)
		}
		arr := b.NewArray()
		if out, err := compute.CastToType(onCPU(), arr, c.to); !errors.Is(err, arrow.ErrInvalid) {
			t.Errorf("%g to %s: %s, error %v", c.v, c.to, out, err)
		}
		arr.Release()
	}
}

// It loses the nulls of chunks that are slices, and cannot look up a null in an empty dictionary.
func TestCastChunksAndDictionaries(t *testing.T) {
	ints := counting(memory.DefaultAllocator, 40)
	defer ints.Release()
	s := array.NewSlice(ints, 3, 30)
	defer s.Release()
	c := arrow.NewChunked(ints.DataType(), []arrow.Array{s, ints})
	defer c.Release()
	for _, to := range []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.BinaryTypes.String, arrow.FixedWidthTypes.Date64} {
		out, err := compute.CastDatum(onCPU(), compute.NewDatumWithoutOwning(c), compute.SafeCastOptions(to))
		if err != nil {
			t.Fatal(err)
		}
		for i, chunk := range out.(*compute.ChunkedDatum).Value.Chunks() {
			if want := c.Chunk(i).NullN(); chunk.NullN() != want {
				t.Errorf("to %s: chunk %d has %d nulls, want %d", to, i, chunk.NullN(), want)
			}
		}
		out.Release()
	}
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}
	b := array.NewDictionaryBuilder(memory.DefaultAllocator, dict)
	defer b.Release()
	b.AppendNull()
	null := b.NewArray()
	defer null.Release()
	castsTo(t, null, compute.SafeCastOptions(arrow.PrimitiveTypes.Float32), "[(null)]")
	for _, text := range []string{"[7, null, 9]"} {
		arr := fromJSON(t, dict, text)
		defer arr.Release()
		castsTo(t, arr, compute.SafeCastOptions(arrow.PrimitiveTypes.Int16), "[7 (null) 9]")
	}
}

// Implicit casts before arithmetic fail as casts do, on every path.
func TestImplicitCastErrors(t *testing.T) {
	big := testInts(memory.DefaultAllocator, 1, 1<<53+1, 3)
	defer big.Release()
	for path, ctx := range pathsOf(t) {
		_, err := compute.GreaterDatum(ctx, compute.NewDatumWithoutOwning(big), compute.NewDatum(0.5))
		want := "invalid: integer value 9007199254740993 not in range: -9007199254740992 to 9007199254740992"
		if !errors.Is(err, arrow.ErrInvalid) || err.Error() != want {
			t.Errorf("%s: error %v, want %s", path, err, want)
		}
		b := compute.NewBatch(ctx)
		defer b.Release()
		b.Call("multiply", nil, big, 0.5)
		if err := b.Run(); !errors.Is(err, arrow.ErrInvalid) || err.Error() != "batch: multiply: "+want {
			t.Errorf("%s, batch: error %v, want %s", path, err, want)
		}
	}
}

// Casts of 1,000 rows allocate little.
func TestCastAllocations(t *testing.T) {
	ints := counting(memory.DefaultAllocator, 1000)
	defer ints.Release()
	ctx, d, opts := context.Context(onCPU()), compute.NewDatumWithoutOwning(ints), compute.SafeCastOptions(arrow.PrimitiveTypes.Int32)
	if n := testing.AllocsPerRun(100, func() {
		out, err := compute.CastDatum(ctx, d, opts)
		if err != nil {
			t.Fatal(err)
		}
		out.Release()
	}); n > 12 {
		t.Errorf("%v allocations", n)
	}
}
