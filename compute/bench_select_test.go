package compute_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/memory"
)

// BenchmarkTake takes half as many random rows as there are.
func BenchmarkTake(b *testing.B) {
	for _, c := range []struct {
		name        string
		make        func(mem arrowmem.Allocator, rows, nulls int) arrow.Array
		rows, nulls int
	}{
		{"int64", benchInts, 1_000, 0},
		{"int64", benchInts, 100_000, 0},
		{"int64", benchInts, 10_000_000, 0},
		{"int64", benchInts, 10_000_000, 10},
		{"utf8", benchWords, 1_000_000, 10},
	} {
		mem := memory.New(nil)
		values, indices := c.make(mem, c.rows, c.nulls), benchIndices(mem, c.rows/2, c.rows)
		args := borrowed(values, indices)
		benchBoth(b, fmt.Sprintf("%s/rows=%d/nulls=%d", c.name, c.rows, c.nulls), mem, "take", ac.DefaultTakeOptions(), args)
		values.Release()
		indices.Release()
	}
}

// BenchmarkFilterWords keeps half of strings.
func BenchmarkFilterWords(b *testing.B) {
	for _, rows := range []int{1_000, 1_000_000} {
		mem := memory.New(nil)
		values, mask := benchWords(mem, rows, 10), benchMask(mem, rows)
		args := borrowed(values, mask)
		benchBoth(b, fmt.Sprintf("utf8/rows=%d", rows), mem, "filter", ac.DefaultFilterOptions(), args)
		values.Release()
		mask.Release()
	}
}

// benchBoth measures a function of ours and arrow-go's of that name.
func benchBoth(b *testing.B, name string, mem arrowmem.Allocator, function string, opts compute.FunctionOptions, args []compute.Datum) {
	ctx := compute.WithAllocator(onCPU(), mem)
	for _, path := range []struct {
		name string
		call func(context.Context, string, ac.FunctionOptions, ...ac.Datum) (ac.Datum, error)
	}{{"broadhead", compute.CallFunction}, {"arrowgo", ac.CallFunction}} {
		b.Run(name+"/path="+path.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out, err := path.call(ctx, function, opts, args...)
				if err != nil {
					b.Fatal(err)
				}
				out.Release()
			}
		})
	}
}

func benchInts(mem arrowmem.Allocator, rows, nulls int) arrow.Array {
	rng := rand.New(rand.NewPCG(1, 2))
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.Reserve(rows)
	for range rows {
		if rng.IntN(100) < nulls {
			b.UnsafeAppendBoolToBitmap(false)
		} else {
			b.UnsafeAppend(rng.Int64())
		}
	}
	return b.NewArray()
}

func benchWords(mem arrowmem.Allocator, rows, nulls int) arrow.Array {
	rng := rand.New(rand.NewPCG(1, 2))
	b := array.NewStringBuilder(mem)
	defer b.Release()
	for range rows {
		if rng.IntN(100) < nulls {
			b.AppendNull()
		} else {
			b.Append("abcdefghijklmnopqrstuvwxyz"[:rng.IntN(27)])
		}
	}
	return b.NewArray()
}

func benchIndices(mem arrowmem.Allocator, n, rows int) arrow.Array {
	rng := rand.New(rand.NewPCG(3, 4))
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.Reserve(n)
	for range n {
		b.UnsafeAppend(rng.Int64N(int64(rows)))
	}
	return b.NewArray()
}

func benchMask(mem arrowmem.Allocator, rows int) arrow.Array {
	rng := rand.New(rand.NewPCG(5, 6))
	b := array.NewBooleanBuilder(mem)
	defer b.Release()
	for range rows {
		b.Append(rng.IntN(2) == 0)
	}
	return b.NewArray()
}
