package compute_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/memory"
)

// smallCalls are calls of 1,000 rows, where all but the work is what counts.
func smallCalls() (calls map[string]func(ctx context.Context) error) {
	ints, floats := array.NewInt64Builder(arrowmem.DefaultAllocator), array.NewFloat64Builder(arrowmem.DefaultAllocator)
	bools := array.NewBooleanBuilder(arrowmem.DefaultAllocator)
	for i := range 1000 {
		ints.Append(int64(i))
		floats.Append(float64(i) / 3)
		bools.Append(i%3 == 0)
	}
	datum := func(b array.Builder) compute.Datum { return compute.NewDatum(b.NewArray()) }
	a, f, mask := datum(ints), datum(floats), datum(bools)
	fifty := compute.NewDatum(scalar.NewInt64Scalar(50))
	call := func(name string, opts compute.FunctionOptions, args ...compute.Datum) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			out, err := compute.CallFunction(ctx, name, opts, args...)
			if err == nil {
				out.Release()
			}
			return err
		}
	}
	return map[string]func(ctx context.Context) error{
		"sum":         func(ctx context.Context) error { _, err := compute.Sum(ctx, nil, a); return err },
		"sum_float64": func(ctx context.Context) error { _, err := compute.Sum(ctx, nil, f); return err },
		"min_max":     call("min_max", nil, a),
		"compare":     call("greater", nil, a, fifty),
		"add":         call("add", nil, a, a),
		"filter":      call("filter", compute.DefaultFilterOptions(), a, mask),
	}
}

func BenchmarkSmall(b *testing.B) {
	for name, call := range smallCalls() {
		for _, mem := range []struct {
			name string
			mem  arrowmem.Allocator
		}{{"pool", memory.New(nil)}, {"go", arrowmem.DefaultAllocator}} {
			b.Run(name+"/mem="+mem.name, func(b *testing.B) {
				ctx := compute.WithAllocator(context.Background(), mem.mem)
				b.ReportAllocs()
				for b.Loop() {
					if err := call(ctx); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
