package compute_test

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

// use is one call of a function, for its memory. fails says that it must be an error.
type use struct {
	name  string
	opts  compute.FunctionOptions
	args  func(c *columns) []compute.Datum
	fails bool
}

// columns are inputs of all kinds, allocated by one allocator.
type columns struct {
	ints, floats, bools, zeros, words, dict arrow.Array
	record                                  arrow.RecordBatch
	table                                   arrow.Table
	chunks                                  *arrow.Chunked
}

func newColumns(mem memory.Allocator) *columns {
	c := &columns{ints: counting(mem, 700)}
	build := func(t arrow.DataType, add func(b array.Builder, i int)) arrow.Array {
		b := array.NewBuilder(mem, t)
		defer b.Release()
		for i := range 700 {
			add(b, i)
		}
		return b.NewArray()
	}
	c.floats = build(arrow.PrimitiveTypes.Float64, func(b array.Builder, i int) { b.(*array.Float64Builder).Append(float64(i)) })
	c.bools = build(arrow.FixedWidthTypes.Boolean, func(b array.Builder, i int) { b.(*array.BooleanBuilder).Append(i%3 == 0) })
	c.zeros = build(arrow.PrimitiveTypes.Int64, func(b array.Builder, _ int) { b.(*array.Int64Builder).Append(0) })
	c.words = build(arrow.BinaryTypes.String, func(b array.Builder, _ int) { b.(*array.StringBuilder).Append("word") })
	c.dict = build(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}, func(b array.Builder, i int) {
		if err := b.(*array.Int64DictionaryBuilder).Append(int64(i % 5)); err != nil {
			panic(err)
		}
	})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: c.ints.DataType(), Nullable: true}, {Name: "s", Type: c.words.DataType()}}, nil)
	c.record = array.NewRecordBatch(schema, []arrow.Array{c.ints, c.words}, 700)
	c.table = array.NewTableFromRecords(schema, []arrow.RecordBatch{c.record, c.record})
	half := array.NewSlice(c.ints, 350, 700)
	defer half.Release()
	c.chunks = arrow.NewChunked(c.ints.DataType(), []arrow.Array{half, c.ints})
	return c
}

func (c *columns) release() {
	for _, a := range []arrow.Array{c.ints, c.floats, c.bools, c.zeros, c.words, c.dict} {
		a.Release()
	}
	c.record.Release()
	c.table.Release()
	c.chunks.Release()
}

func of(pick ...func(c *columns) any) func(c *columns) []compute.Datum {
	return func(c *columns) []compute.Datum {
		out := make([]compute.Datum, len(pick))
		for i, p := range pick {
			switch v := p(c).(type) {
			case int64:
				out[i] = compute.NewDatum(v)
			default:
				out[i] = compute.NewDatumWithoutOwning(v)
			}
		}
		return out
	}
}

func ints(c *columns) any   { return c.ints }
func floats(c *columns) any { return c.floats }
func bools(c *columns) any  { return c.bools }
func zeros(c *columns) any  { return c.zeros }
func words(c *columns) any  { return c.words }
func dict(c *columns) any   { return c.dict }
func chunks(c *columns) any { return c.chunks }
func record(c *columns) any { return c.record }
func table(c *columns) any  { return c.table }
func two(*columns) any      { return int64(2) }
func letter(*columns) any   { return scalar.NewStringScalar("w") }

// someWords is a set.
var someWords = func() compute.Datum {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues([]string{"word", "other"}, nil)
	return compute.NewDatumWithoutOwning(b.NewArray())
}()

var uses = []use{
	{name: "sum", args: of(ints)},
	{name: "mean", args: of(floats)},
	{name: "min_max", args: of(chunks)},
	{name: "count", args: of(words)},
	{name: "any", args: of(bools)},
	{name: "sum", args: of(words), fails: true},
	{name: "add", args: of(ints, two)},
	{name: "add", args: of(chunks, chunks)},
	{name: "add", args: of(ints, floats)},
	{name: "add", args: of(dict, two)},
	{name: "add", args: of(ints, chunks), fails: true},
	{name: "add", args: of(ints, bools), fails: true},
	{name: "divide", args: of(ints, zeros), fails: true},
	{name: "divide", args: of(chunks, zeros), fails: true},
	{name: "less", args: of(ints, floats)},
	{name: "equal", args: of(words, words)},
	{name: "less", args: of(words, letter)},
	{name: "equal", args: of(words, chunks), fails: true},
	{name: "and_kleene", args: of(bools, bools)},
	{name: "not", args: of(bools)},
	{name: "is_null", args: of(ints)},
	{name: "is_nan", args: of(floats)},
	{name: "cast", args: of(ints), opts: compute.SafeCastOptions(arrow.PrimitiveTypes.Float64)},
	{name: "cast", args: of(chunks), opts: compute.UnsafeCastOptions(arrow.PrimitiveTypes.Int8)},
	{name: "cast", args: of(floats), opts: compute.SafeCastOptions(arrow.PrimitiveTypes.Int8), fails: true},
	{name: "cast", args: of(ints), opts: compute.SafeCastOptions(arrow.FixedWidthTypes.Timestamp_us)},
	{name: "cast", args: of(bools), opts: compute.SafeCastOptions(arrow.FixedWidthTypes.Boolean)},
	{name: "cast", args: of(dict), opts: compute.SafeCastOptions(arrow.PrimitiveTypes.Float32)},
	{name: "cast", args: of(words), opts: compute.SafeCastOptions(arrow.PrimitiveTypes.Int64), fails: true},
	{name: "is_in", args: of(words), opts: &compute.SetOptions{ValueSet: someWords}},
	{name: "is_in", args: of(chunks), opts: &compute.SetOptions{ValueSet: compute.NewDatumWithoutOwning(counting(memory.DefaultAllocator, 90))}},
	{name: "is_in", args: of(ints), opts: &compute.SetOptions{ValueSet: someWords}, fails: true},
	{name: "is_in", args: of(ints), fails: true},
	{name: "index_in", args: of(dict), opts: &compute.SetOptions{ValueSet: compute.NewDatumWithoutOwning(counting(memory.DefaultAllocator, 3))}},
	{name: "is_in_meta_binary", args: of(ints, floats)},
	{name: "sort_indices", args: of(dict)},
	{name: "sort", args: of(chunks)},
	{name: "sort", args: of(record), opts: compute.SortOptions{{ColumnIndex: 1}, {ColumnIndex: 0, Order: compute.SortOrderDescending}}},
	{name: "sort", args: of(record), opts: compute.SortOptions{{ColumnIndex: 2}}, fails: true},
	{name: "array_sort_indices", args: of(chunks)},
	{name: "array_sort_indices", args: of(table), fails: true},
	{name: "unique", args: of(words)},
	{name: "unique", args: of(dict)},
	{name: "unique", args: of(record), fails: true},
	{name: "value_counts", args: of(chunks)},
	{name: "dictionary_encode", args: of(bools)},
	{name: "dictionary_encode", args: of(dict)},
	{name: "filter", args: of(ints, bools)},
	{name: "filter", args: of(words, bools)},
	{name: "filter", args: of(dict, bools)},
	{name: "filter", args: of(ints, bools), opts: &compute.FilterOptions{NullSelection: compute.SelectionEmitNulls}},
	{name: "filter", args: of(chunks, bools), fails: true},
	{name: "filter", args: of(ints, ints), fails: true},
	{name: "filter", args: of(record, bools)},
	{name: "filter", args: of(table, bools), fails: true},
}

// noLeaks makes every call over an allocator and checks that it gets all of its memory back.
func noLeaks(t *testing.T, ctx context.Context, under memory.Allocator) {
	for _, u := range uses {
		t.Run(u.name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(under)
			defer mem.AssertSize(t, 0)
			c := newColumns(mem)
			defer c.release()
			out, err := compute.CallFunction(compute.WithAllocator(ctx, mem), u.name, u.opts, u.args(c)...)
			switch {
			case err == nil:
				out.Release()
				if u.fails {
					t.Error("no error")
				}
			case !u.fails:
				t.Error(err)
			}
		})
	}
	t.Run("batch", func(t *testing.T) {
		mem := memory.NewCheckedAllocator(under)
		defer mem.AssertSize(t, 0)
		c := newColumns(mem)
		defer c.release()
		leakBatch(t, compute.WithAllocator(ctx, mem), c)
	})
	t.Run("failed batch", func(t *testing.T) {
		mem := memory.NewCheckedAllocator(under)
		defer mem.AssertSize(t, 0)
		c := newColumns(mem)
		defer c.release()
		b := compute.NewBatch(compute.WithAllocator(ctx, mem))
		defer b.Release()
		sum := b.Call("add", nil, c.ints, int64(1))
		b.Call("divide", nil, sum, c.zeros)
		if err := b.Run(); !errors.Is(err, arrow.ErrInvalid) {
			t.Errorf("got %v, want a division by zero", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		mem := memory.NewCheckedAllocator(under)
		defer mem.AssertSize(t, 0)
		c := newColumns(mem)
		defer c.release()
		cancelled, cancel := context.WithCancel(compute.WithAllocator(ctx, mem))
		cancel()
		for _, u := range uses {
			if _, err := compute.CallFunction(cancelled, u.name, u.opts, u.args(c)...); err == nil {
				t.Errorf("%s ran under a cancelled context", u.name)
			}
		}
	})
}

func leakBatch(t *testing.T, ctx context.Context, c *columns) {
	b := compute.NewBatch(ctx)
	late := b.Call("greater", nil, c.ints, int64(60))
	rows := b.Call("filter", nil, c.ints, late)
	total := b.Call("sum", nil, rows)
	kept := b.Keep(rows)
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	d, err := total.Datum()
	if err != nil {
		t.Fatal(err)
	}
	d.Release()
	b.Release()
	arr, err := kept.Array(ctx)
	if err != nil {
		t.Fatal(err)
	}
	arr.Release()
	kept.Release()
}

func TestNoLeaksOnCPU(t *testing.T) { noLeaks(t, onCPU(), memory.NewGoAllocator()) }

// A context that is cancelled while a kernel runs stops it or does not; nothing is left behind.
func TestCancelledWithin(t *testing.T) {
	a, b := testFloats(2_000_000, 1), testFloats(2_000_000, 2)
	defer a.Release()
	defer b.Release()
	for _, name := range []string{"add", "less", "sum"} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		ctx, cancel := context.WithCancel(compute.WithAllocator(onCPU(), mem))
		args := borrowed(a, b)
		if name == "sum" {
			args = args[:1]
		}
		go cancel()
		out, err := compute.CallFunction(ctx, name, nil, args...)
		switch {
		case err == nil:
			out.Release()
		case !errors.Is(err, context.Canceled):
			t.Errorf("%s: %v", name, err)
		}
		mem.AssertSize(t, 0)
		cancel()
	}
}
