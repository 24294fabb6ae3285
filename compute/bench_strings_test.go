package compute_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/memory"
)

// against runs a call with ours and with arrow-go's kernels.
func against(b *testing.B, name string, rows int, function string, opts compute.FunctionOptions, args ...compute.Datum) {
	for _, lib := range []struct {
		name string
		ctx  context.Context
		call func(ctx context.Context, name string, opts compute.FunctionOptions, args ...compute.Datum) (compute.Datum, error)
	}{
		{"broadhead", compute.WithAllocator(onCPU(), memory.New(nil)), compute.CallFunction},
		{"arrow-go", context.Background(), ac.CallFunction},
	} {
		b.Run(fmt.Sprintf("%s/rows=%d/lib=%s", name, rows, lib.name), func(b *testing.B) {
			for b.Loop() {
				out, err := lib.call(lib.ctx, function, opts, args...)
				if err != nil {
					b.Fatal(err)
				}
				out.Release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
		})
	}
}

// manyWords are rows of 1,000 distinct strings of 5 to 18 bytes.
func manyWords(rows int) *array.String {
	rng := rand.New(rand.NewPCG(1, 1))
	words := make([]string, 1000)
	for i := range words {
		words[i] = fmt.Sprintf("%d-word-of-many-letters", i)[:5+rng.IntN(14)]
	}
	b := array.NewStringBuilder(arrowmem.DefaultAllocator)
	defer b.Release()
	for range rows {
		b.Append(words[rng.IntN(len(words))])
	}
	return b.NewStringArray()
}

func BenchmarkStringEqual(b *testing.B) {
	for _, rows := range []int{1000, 10_000_000} {
		col := manyWords(rows)
		defer col.Release()
		args := map[string][]compute.Datum{
			"literal": {compute.NewDatumWithoutOwning(col), compute.NewDatum(col.Value(7))},
			"columns": {compute.NewDatumWithoutOwning(col), compute.NewDatumWithoutOwning(col)},
		}
		for _, shape := range []string{"literal", "columns"} {
			for _, f := range []string{"equal", "less"} {
				against(b, f+"-"+shape, rows, f, nil, args[shape]...)
			}
		}
	}
}
