package compute_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// Array data that cannot be is an error, never a panic or an answer.
func TestImpossibleArrayData(t *testing.T) {
	bytes64 := arrowmem.NewBufferBytes(make([]byte, 64))
	two := arrowmem.NewBufferBytes([]byte{0xff, 0xff})
	ints, bools := arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Boolean
	mask, _, err := array.FromJSON(arrowmem.DefaultAllocator, bools, strings.NewReader("[true, false, true, false]"))
	require.NoError(t, err)
	for name, d := range map[string]*array.Data{
		"length wraps":   array.NewData(ints, 1<<61, []*arrowmem.Buffer{nil, bytes64}, nil, 0, 0),
		"offset wraps":   array.NewData(bools, 8, []*arrowmem.Buffer{nil, bytes64}, nil, 0, math.MaxInt64-9),
		"offset below 0": array.NewData(ints, 4, []*arrowmem.Buffer{nil, bytes64}, nil, 0, -1),
		"values short":   array.NewData(ints, 9, []*arrowmem.Buffer{nil, bytes64}, nil, 0, 0),
		"no values":      array.NewData(ints, 1, []*arrowmem.Buffer{nil, nil}, nil, 0, 0),
		"validity short": array.NewData(ints, 4, []*arrowmem.Buffer{two, bytes64}, nil, 1, 100),
	} {
		x := &compute.ArrayDatum{Value: d}
		for _, f := range []string{"sum", "mean", "min_max"} {
			_, err := compute.CallFunction(onCPU(), f, nil, x)
			if name != "offset wraps" || f == "sum" {
				require.ErrorIs(t, err, arrow.ErrInvalid, "%s of %s", f, name)
			}
		}
		_, err := compute.CallFunction(onCPU(), "equal", nil, x, x)
		require.ErrorIs(t, err, arrow.ErrInvalid, name)
		_, err = compute.Filter(onCPU(), x, compute.NewDatumWithoutOwning(mask), compute.FilterOptions{})
		require.ErrorIs(t, err, arrow.ErrInvalid, name)
	}
	lying := array.NewData(ints, 8, []*arrowmem.Buffer{nil, bytes64}, nil, 50, 0)
	n, err := compute.Count(onCPU(), nil, &compute.ArrayDatum{Value: lying})
	require.NoError(t, err)
	require.Equal(t, "8", n.(*compute.ScalarDatum).Value.String())
	none := array.NewData(ints, 0, nil, nil, 0, 0)
	noMask := array.NewData(bools, 0, []*arrowmem.Buffer{nil, nil}, nil, 0, 0)
	out, err := compute.Filter(onCPU(), &compute.ArrayDatum{Value: none}, &compute.ArrayDatum{Value: noMask}, compute.FilterOptions{})
	require.NoError(t, err)
	require.Zero(t, out.Len())
}

// Memory that runs out inside arrow-go's goroutines is an error of the call.
func TestLimitInsideArrow(t *testing.T) {
	ctx := compute.WithAllocator(onCPU(), memory.New(nil, memory.WithLimit(1<<20)))
	n := 1 << 18
	a, b := array.NewInt64Builder(arrowmem.DefaultAllocator), array.NewFloat64Builder(arrowmem.DefaultAllocator)
	s := array.NewStringBuilder(arrowmem.DefaultAllocator)
	for i := range n {
		a.Append(int64(i))
		b.Append(float64(i))
		s.Append("a string of some length")
	}
	x, y, z := a.NewArray(), b.NewArray(), s.NewArray()
	for name, call := range map[string]func() (compute.Datum, error){
		"add with a cast": func() (compute.Datum, error) {
			return compute.Add(ctx, compute.ArithmeticOptions{}, compute.NewDatumWithoutOwning(x), compute.NewDatumWithoutOwning(y))
		},
		"negate": func() (compute.Datum, error) {
			return compute.CallFunction(ctx, "negate", nil, compute.NewDatumWithoutOwning(x))
		},
		"filter of strings": func() (compute.Datum, error) {
			m, err := compute.GreaterDatum(onCPU(), compute.NewDatumWithoutOwning(x), compute.NewDatum(int64(5)))
			if err != nil {
				return nil, err
			}
			return compute.Filter(ctx, compute.NewDatumWithoutOwning(z), m, compute.FilterOptions{})
		},
	} {
		_, err := call()
		require.ErrorIs(t, err, gpu.ErrOutOfMemory, name)
	}
}

// nth panics at the n-th allocation, as allocators do that have no memory.
type nth struct {
	arrowmem.Allocator
	left int
}

func (a *nth) Allocate(n int) []byte {
	if a.left--; a.left == 0 {
		panic(errors.Join(gpu.ErrOutOfMemory))
	}
	return a.Allocator.Allocate(n)
}

func (a *nth) Reallocate(n int, b []byte) []byte {
	if a.left--; a.left == 0 {
		panic(errors.Join(gpu.ErrOutOfMemory))
	}
	return a.Allocator.Reallocate(n, b)
}

// Whenever memory runs out, the call fails or answers, and nothing is left behind.
func TestOutOfMemoryLeavesNothing(t *testing.T) {
	i64, f64 := numbersFor(t, arrow.PrimitiveTypes.Int64), numbersFor(t, arrow.PrimitiveTypes.Float64)
	mask, err := compute.GreaterArray(onCPU(), i64, i64)
	require.NoError(t, err)
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: i64.DataType()}, {Name: "b", Type: f64.DataType()}}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{i64, f64}, int64(i64.Len()))
	for name, call := range map[string]func(context.Context) (compute.Datum, error){
		"add":  func(ctx context.Context) (compute.Datum, error) { return add(ctx, i64, i64) },
		"cast": func(ctx context.Context) (compute.Datum, error) { return add(ctx, i64, f64) },
		"filter": func(ctx context.Context) (compute.Datum, error) {
			return compute.Filter(ctx, compute.NewDatumWithoutOwning(rec), compute.NewDatumWithoutOwning(mask), compute.FilterOptions{})
		},
	} {
		for n := 1; n < 12; n++ {
			mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
			out, err := call(compute.WithAllocator(onCPU(), &nth{Allocator: mem, left: n}))
			if err == nil {
				out.Release()
			} else {
				require.ErrorIs(t, err, gpu.ErrOutOfMemory, "%s, allocation %d", name, n)
			}
			require.Zero(t, mem.CurrentAlloc(), "%s, allocation %d", name, n)
		}
	}
}

func add(ctx context.Context, a, b arrow.Array) (compute.Datum, error) {
	return compute.Add(ctx, compute.ArithmeticOptions{}, compute.NewDatumWithoutOwning(a), compute.NewDatumWithoutOwning(b))
}

func numbersFor(t *testing.T, typ arrow.DataType) arrow.Array {
	arr, _, err := array.FromJSON(arrowmem.DefaultAllocator, typ, strings.NewReader("[1, null, 3, 4, null, 6, 7, 8, 9]"))
	require.NoError(t, err)
	return arr
}

// Misuse of batches, columns and arrays that are not there answers errors.
func TestNothingWhereSomethingIsWanted(t *testing.T) {
	b := compute.NewBatch(onCPU())
	b.Call("sum", nil, (*compute.Column)(nil))
	require.ErrorIs(t, b.Run(), arrow.ErrInvalid)
	b = compute.NewBatch(onCPU())
	b.Call("sum", nil, &compute.Column{})
	require.Error(t, b.Run())
	b = compute.NewBatch(onCPU())
	b.Keep(nil)
	require.ErrorIs(t, b.Run(), arrow.ErrInvalid)
	_, err := new(compute.Value).Datum()
	require.Error(t, err)
	_, err = compute.SumArray(onCPU(), nil, nil)
	require.ErrorIs(t, err, arrow.ErrInvalid)
	_, err = compute.EqualArray(onCPU(), (*array.Int64)(nil), nil)
	require.ErrorIs(t, err, arrow.ErrInvalid)
	for _, c := range []struct {
		f    string
		opts compute.FunctionOptions
		n    int
	}{
		{"count", &compute.CountOptions{Mode: 99}, 1}, {"filter", &compute.FilterOptions{NullSelection: 99}, 2},
		{"add", &compute.CountOptions{}, 2}, {"less", &compute.CountOptions{}, 2}, {"not", &compute.CountOptions{}, 1},
	} {
		x := compute.NewDatum(true)
		_, err := compute.CallFunction(onCPU(), c.f, c.opts, []compute.Datum{x, x}[:c.n]...)
		require.Error(t, err, c.f)
	}
}

// An allocator that was closed is the caller's mistake: an error of the call, and of no other.
func TestClosedAllocator(t *testing.T) {
	for name, ctx := range pathsOf(t) {
		mem, ok := compute.GetAllocator(ctx).(*memory.Allocator)
		if !ok {
			continue
		}
		closed := memory.New(mem.Device())
		require.NoError(t, closed.Close())
		x := numbersFor(t, arrow.PrimitiveTypes.Int64)
		for n, call := range map[string]func(ctx context.Context) (compute.Datum, error){
			"add": func(ctx context.Context) (compute.Datum, error) { return add(ctx, x, x) },
			"filter": func(ctx context.Context) (compute.Datum, error) {
				return compute.Filter(ctx, compute.NewDatum(int64(3)), compute.NewDatum(true), compute.FilterOptions{})
			},
			"negate, in arrow-go": func(ctx context.Context) (compute.Datum, error) {
				return compute.CallFunction(ctx, "negate", nil, compute.NewDatumWithoutOwning(x))
			},
			"add with a cast": func(ctx context.Context) (compute.Datum, error) {
				return add(ctx, x, numbersFor(t, arrow.PrimitiveTypes.Float64))
			},
		} {
			_, err := call(compute.WithAllocator(ctx, closed))
			require.ErrorIs(t, err, gpu.ErrClosed, "%s on %s", n, name)
		}
		before, err := compute.Explain(ctx, "add", nil, compute.NewDatumWithoutOwning(x), compute.NewDatumWithoutOwning(x))
		require.NoError(t, err)
		require.Equal(t, name, before.Device, "the device is not lost: %s", before.Reason)
	}
}
