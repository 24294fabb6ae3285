package compute_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
)

// eagerTypes are the types whose aggregates one threadgroup does, and dates, which are stored as integers.
var eagerTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us,
}

// checkEager compares small aggregates with the CPU's, over slices, nulls, options, and columns that the device has a copy
// of, from several goroutines that hand each other what such calls keep.
func checkEager(t *testing.T, ctx context.Context, rows ...int64) {
	rng := rand.New(rand.NewPCG(21, 22))
	type job struct {
		name string
		opts compute.FunctionOptions
		arr  arrow.Array
		want compute.Datum
		err  error
	}
	var jobs []job
	for _, typ := range eagerTypes {
		for _, nulls := range []bool{false, true} {
			b := array.NewBuilder(compute.GetAllocator(ctx), typ)
			for range 9000 {
				if nulls && rng.IntN(3) == 0 {
					b.AppendNull()
				} else if err := b.AppendValueFromString(smallValue(rng, typ)); err != nil {
					t.Fatal(err)
				}
			}
			whole := b.NewArray()
			b.Release()
			defer whole.Release()
			col, err := compute.ToDevice(ctx, whole)
			require.NoError(t, err)
			defer col.Release()
			for i, n := range rows {
				first := []int64{0, 3, 64}[i%3]
				arr := array.NewSlice(whole, first, first+n)
				defer arr.Release()
				for _, name := range []string{"sum", "mean", "min", "max", "min_max", "any", "all", "count"} {
					var opts compute.FunctionOptions
					switch {
					case name == "count":
						opts = &compute.CountOptions{Mode: compute.CountMode(i % 3)}
					case i%2 == 1:
						opts = &compute.ScalarAggregateOptions{SkipNulls: i%4 == 1, MinCount: uint32(i)}
					}
					want, err := compute.CallFunction(compute.WithDevice(ctx, nil), name, opts, borrowed(arr)...)
					jobs = append(jobs, job{name, opts, arr, want, err})
				}
			}
		}
	}
	var all sync.WaitGroup
	for g := range 3 {
		all.Go(func() {
			for i := g; i < len(jobs); i += 3 {
				j := jobs[i]
				got, err := compute.CallFunction(ctx, j.name, j.opts, borrowed(j.arr)...)
				if err == nil && j.err == nil {
					err = equal.Datums(got, j.want)
				} else if err != nil && j.err != nil {
					err = nil
				}
				if err != nil {
					t.Errorf("%s(%v) of %d rows of %s, %d nulls: %v", j.name, j.opts, j.arr.Len(), j.arr.DataType(), j.arr.NullN(), err)
				}
			}
		})
	}
	all.Wait()
}

// smallValue is text of a value that every type of its kind holds.
func smallValue(rng *rand.Rand, typ arrow.DataType) string {
	switch typ.ID() {
	case arrow.BOOL:
		return fmt.Sprint(rng.IntN(2) == 0)
	case arrow.DATE32:
		return fmt.Sprintf("20%02d-03-04", rng.IntN(100))
	case arrow.TIMESTAMP:
		return fmt.Sprintf("20%02d-03-04 05:06:07.%06dZ", rng.IntN(100), rng.IntN(1_000_000))
	case arrow.FLOAT32, arrow.FLOAT64:
		return []string{"1.5", "-0", "0", "NaN", "-7.25", "1e30"}[rng.IntN(6)]
	}
	return fmt.Sprint(rng.IntN(128))
}

// runsOn counts the calls of a function that a device has answered.
func runsOn(t *testing.T, function, device string) int64 {
	t.Helper()
	for _, s := range compute.Stats() {
		if s.Function == function && s.Device == device {
			return s.Runs
		}
	}
	return 0
}
