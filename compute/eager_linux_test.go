//go:build linux && (amd64 || arm64) && !noemulator && !race

package compute_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

// resultOf makes a result like an aggregate's, to count what that takes.
var resultOf = map[string]func() compute.Datum{
	"sum":   func() compute.Datum { return compute.NewDatumWithoutOwning(scalar.NewInt64Scalar(1)) },
	"count": func() compute.Datum { return compute.NewDatumWithoutOwning(scalar.NewInt64Scalar(1)) },
	"max":   func() compute.Datum { return compute.NewDatumWithoutOwning(scalar.NewInt64Scalar(1)) },
	"mean":  func() compute.Datum { return compute.NewDatumWithoutOwning(scalar.NewFloat64Scalar(1)) },
	"min_max": func() compute.Datum {
		return compute.NewDatumWithoutOwning(scalar.NewStructScalar([]scalar.Scalar{scalar.NewInt64Scalar(1), scalar.NewInt64Scalar(1)}, minMaxType))
	},
}

var minMaxType = arrow.StructOf(arrow.Field{Name: "min", Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: "max", Type: arrow.PrimitiveTypes.Int64})

var keptDatum compute.Datum

// (The race detector makes sync.Pool forget, so the file is left out there.)

// A repeated eager aggregate of a small column allocates its result and nothing else, on either kind of device.
func TestEagerAggregatesAllocateTheirResult(t *testing.T) {
	shared, _ := emulated(t)
	for place, ctx := range map[string]context.Context{"shared memory": shared, "device memory": freshCard(t)} {
		x := counting(compute.GetAllocator(ctx), 1000)
		defer x.Release()
		col, err := compute.ToDevice(ctx, x)
		require.NoError(t, err)
		defer col.Release()
		args := borrowed(x)
		for function, result := range resultOf {
			t.Run(place+"/"+function, func(t *testing.T) {
				want, err := compute.CallFunction(onCPU(), function, nil, args...)
				require.NoError(t, err)
				before := runsOn(t, function, "emulator")
				call := func() {
					got, err := compute.CallFunction(ctx, function, nil, args...)
					if err != nil || got.String() != want.String() {
						t.Errorf("got %v, %v, want %v", got, err, want)
					}
				}
				for range 20 {
					call()
				}
				require.Equal(t, before+20, runsOn(t, function, "emulator"))
				defer gpu.SetWaitStrategy(gpu.WaitStrategyInForce())
				gpu.SetWaitStrategy(gpu.WaitEventWord) // a waiter that sleeps allocates a little more
				most := testing.AllocsPerRun(300, func() { keptDatum = result() })
				got := testing.AllocsPerRun(300, func() { keptDatum, _ = compute.CallFunction(ctx, function, nil, args...) })
				require.LessOrEqual(t, got, most, "allocations")
			})
		}
	}
}

// BenchmarkEagerSum is the whole call on the emulator, which says what the engine itself costs beside a kernel.
func BenchmarkEagerSum(b *testing.B) {
	ctx, _ := emulated(b)
	x := counting(compute.GetAllocator(ctx), 1000)
	defer x.Release()
	args := borrowed(x)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compute.CallFunction(ctx, "sum", nil, args...); err != nil {
			b.Fatal(err)
		}
	}
}
