package compute_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/computetest"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
)

// onCPU is a context whose calls run on the CPU.
func onCPU() context.Context { return compute.WithDevice(context.Background(), nil) }

func TestCPU(t *testing.T) { computetest.RunAll(t, onCPU()) }

// The answer does not depend on the number of threads nor on the chunks.
func TestSameBitsHoweverSplit(t *testing.T) {
	const rows = 300_000
	a, b, mask, rowNumbers := testFloats(rows, 1), testFloats(rows, 2), testBools(rows), counting(memory.DefaultAllocator, rows)
	defer a.Release()
	defer b.Release()
	defer mask.Release()
	defer rowNumbers.Release()
	calls := []struct {
		name string
		args []arrow.Array
	}{
		{"sum", []arrow.Array{a}},
		{"mean", []arrow.Array{a}},
		{"min_max", []arrow.Array{a}},
		{"any", []arrow.Array{mask}},
		{"add", []arrow.Array{a, b}},
		{"less", []arrow.Array{a, b}},
		{"is_nan", []arrow.Array{a}},
		{"filter", []arrow.Array{a, mask}},
		{"take", []arrow.Array{a, rowNumbers}},
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			want := callAs(t, 1, 1, c.name, c.args, rows)
			defer want.Release()
			for _, procs := range []int{1, 4} {
				for _, parallel := range []int{1, 4} {
					for _, chunk := range []int{rows, 77_777, 1000, 64} {
						got := callAs(t, procs, parallel, c.name, c.args, chunk)
						if err := equal.Datums(got, want); err != nil {
							t.Errorf("GOMAXPROCS=%d NumParallel=%d chunks of %d: %v", procs, parallel, chunk, err)
						}
						got.Release()
					}
				}
			}
		})
	}
}

// callAs calls a function over chunks with so many threads.
func callAs(t *testing.T, procs, parallel int, name string, args []arrow.Array, chunk int) compute.Datum {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	exec := compute.DefaultExecCtx()
	exec.NumParallel = parallel
	ctx := compute.SetExecCtx(onCPU(), exec)
	in := make([]compute.Datum, len(args))
	for i, a := range args {
		in[i] = chunked(a, chunk+i) // other borders in each argument
		defer in[i].Release()
	}
	out, err := compute.CallFunction(ctx, name, nil, in...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// chunked cuts an array into chunks of n rows with an empty one in front.
func chunked(a arrow.Array, n int) compute.Datum {
	chunks := []arrow.Array{array.NewSlice(a, 0, 0)}
	for at := 0; at < a.Len(); at += n {
		chunks = append(chunks, array.NewSlice(a, int64(at), int64(min(at+n, a.Len()))))
	}
	c := arrow.NewChunked(a.DataType(), chunks)
	defer c.Release()
	for _, x := range chunks {
		x.Release()
	}
	return compute.NewDatum(c)
}

// testFloats are floats of all sizes with nulls among them.
func testFloats(n int, seed uint64) arrow.Array {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	defer b.Release()
	x := seed
	for i := range n {
		x = x*6364136223846793005 + 1442695040888963407
		if x>>60 == 0 {
			b.AppendNull()
			continue
		}
		b.Append(float64(int64(x)) / float64(uint64(1)<<(i%70)))
	}
	return b.NewArray()
}

func testBools(n int) arrow.Array {
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	defer b.Release()
	for i := range n {
		if i%11 == 5 {
			b.AppendNull()
			continue
		}
		b.Append(i*i%7 < 3)
	}
	return b.NewArray()
}

func testInts(mem memory.Allocator, values ...int64) arrow.Array {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}

// counting is 0 .. n-1 with a null in every tenth row from the third.
func counting(mem memory.Allocator, n int) arrow.Array {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	for i := range n {
		if i%10 == 3 {
			b.AppendNull()
			continue
		}
		b.Append(int64(i))
	}
	return b.NewArray()
}

// borrowed are datums that need no release.
func borrowed(arrays ...arrow.Array) []compute.Datum {
	out := make([]compute.Datum, len(arrays))
	for i, a := range arrays {
		out[i] = compute.NewDatumWithoutOwning(a)
	}
	return out
}
