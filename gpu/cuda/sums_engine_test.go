//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

// This file's name puts it behind overdue_test.go, which counts contexts: compute keeps what it has of a device.

// The engine's running sums in one pass, which only devices whose threadgroups all make progress do.
func TestCumulativeSumsInSoftware(t *testing.T) {
	d := sharedSoftware(t).device(t)
	checkCumulativeSums(t, d)
	require.NoError(t, d.Close())
}

func TestCumulativeSums(t *testing.T) {
	if d := open(t); d != nil {
		checkCumulativeSums(t, d)
		require.NoError(t, d.Close())
	}
}

func checkCumulativeSums(t *testing.T, d gpu.Device) {
	require.NoError(t, compute.SetCrossover("", 0))
	defer func() { require.NoError(t, compute.SetCrossover("", -1)) }()
	mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	ctx := compute.WithAllocator(compute.WithDevice(context.Background(), d), mem)
	cpu := compute.WithAllocator(compute.WithDevice(context.Background(), nil), mem)
	rng := rand.New(rand.NewPCG(5, 6))
	types, lengths := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32}, []int{1, 5000, 300_000}
	if strings.HasPrefix(d.Info().Name, "software") { // which takes its time
		types, lengths = types[:1], lengths[:2]
	}
	for _, typ := range types {
		for _, n := range lengths {
			for _, nulls := range []bool{true, false} {
				arr := numbers(rng, typ, n, nulls)
				for _, name := range []string{"cumulative_sum", "cumulative_sum_checked"} {
					opts := compute.CumulativeOptions{SkipNulls: true}
					arg := compute.NewDatumWithoutOwning(arr)
					want, wantErr := compute.CallFunction(cpu, name, &opts, arg)
					got, err := compute.CallFunction(ctx, name, &opts, arg)
					if wantErr != nil {
						require.EqualError(t, err, wantErr.Error(), name)
						continue
					}
					require.NoError(t, err)
					require.True(t, want.Equals(got), "%s of %d %s", name, n, typ)
					want.Release()
					got.Release()
				}
				arr.Release()
			}
		}
	}
	ran := 0
	for _, s := range compute.Stats() {
		if strings.HasPrefix(s.Function, "cumulative_sum") && s.Device == "cuda" && s.Runs > 0 {
			require.Zero(t, s.Fallbacks, s.LastFallback)
			ran++
		}
	}
	require.Equal(t, 2, ran)
}
