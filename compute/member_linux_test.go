//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
)

// everyOther is a set of n values, of which the arrays of numbers have some, and a null if asked for.
func everyOther(n int, null bool) compute.Datum {
	b := array.NewInt64Builder(arrowmem.DefaultAllocator)
	defer b.Release()
	for i := range n {
		b.Append(int64(2*i - n))
		b.Append(int64(2*i - n)) // a value counts once
	}
	if null {
		b.AppendNull()
	}
	arr := b.NewArray()
	defer arr.Release()
	return compute.NewDatum(arr)
}

// A device looks values up in sets of 256 values at most, in batches too, where lengths are pending; the rules for nulls
// are the CPU's.
func TestIsInOnDevices(t *testing.T) {
	unified, _ := emulated(t)
	card, _ := newBusCard(t)
	for name, ctx := range map[string]context.Context{"unified": unified, "card": card} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, compute.SetCrossover("", 0))
			defer compute.SetCrossover("", -1)
			arr := numbers(compute.GetAllocator(ctx), 3000)
			defer arr.Release()
			for _, n := range []int{0, 1, 3, 255, 256, 257, 5000} {
				for _, null := range []bool{false, true} {
					for rule := compute.NullMatchingMatch; rule <= compute.NullMatchingInconclusive; rule++ {
						set := everyOther(n, null)
						opts := &compute.SetOptions{ValueSet: set, NullBehavior: rule}
						why, err := compute.Explain(ctx, "is_in", opts, compute.NewDatumWithoutOwning(arr))
						require.NoError(t, err)
						onGPU := why.Device == "emulator"
						require.Equal(t, n <= 256, onGPU, why)
						if !onGPU {
							require.Contains(t, why.Reason, "a set of 256 values at most")
						}
						before := lookUps()
						got, want := isInBatch(t, ctx, opts, arr), isInBatch(t, compute.WithDevice(ctx, nil), opts, arr)
						require.NoError(t, equal.Datums(got, want), "%d values, null %t, rule %v", n, null, rule)
						require.Equal(t, onGPU, lookUps() > before, fmt.Sprint(n))
						got.Release()
						want.Release()
						set.Release()
					}
				}
			}
		})
	}
}

// isInBatch looks up what a filter has left.
func isInBatch(t *testing.T, ctx context.Context, opts *compute.SetOptions, arr *array.Int64) compute.Datum {
	b := compute.NewBatch(ctx)
	defer b.Release()
	left := b.Call("filter", nil, arr, b.Call("less", nil, arr, int64(300)))
	found := b.Call("is_in", opts, b.Call("add_unchecked", nil, left, int64(1)))
	require.NoError(t, b.Run())
	d, err := found.Datum()
	require.NoError(t, err)
	return d
}

// lookUps counts the calls of is_in that the emulator has answered.
func lookUps() int64 {
	for _, s := range compute.Stats() {
		if s.Function == "is_in" && s.Device == "emulator" {
			return s.Runs
		}
	}
	return 0
}
