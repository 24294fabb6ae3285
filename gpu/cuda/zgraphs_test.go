//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/memory"
)

// (The file comes late: package compute keeps what it has of a device, which tests before this one would count.)

// A batch of the engine that is made anew each time is one graph, and its kernels get the memory that they had last time, so
// that none is told anything.
func TestBatchesBecomeGraphs(t *testing.T) {
	w := sharedSoftware(t)
	devices, err := w.open()
	require.NoError(t, err)
	dev := devices[0]
	require.NoError(t, compute.SetCrossover("", 0))
	defer func() { require.NoError(t, compute.SetCrossover("", -1)) }()
	ctx := compute.WithAllocator(compute.WithDevice(context.Background(), dev), memory.New(dev))
	x := numbers(rand.New(rand.NewPCG(1, 1)), arrow.PrimitiveTypes.Uint32, 40, true)
	defer x.Release()
	col, err := compute.ToDevice(ctx, x)
	require.NoError(t, err)
	defer col.Release()
	five := compute.NewDatum(uint32(5))
	run := func(ctx context.Context) string {
		b := compute.NewBatch(ctx)
		defer b.Release()
		v := b.Call("add_unchecked", nil, x, five)
		for range 3 {
			v = b.Call("multiply_unchecked", nil, v, five)
		}
		v = b.Call("bit_wise_and", nil, v, x)
		total := b.Call("sum", nil, v)
		require.NoError(t, b.Run())
		d, err := total.Datum()
		require.NoError(t, err)
		return d.String()
	}
	want := run(compute.WithDevice(ctx, nil))
	for range graphUse {
		require.Equal(t, want, run(ctx))
	}
	launches, updates := w.call("software_graph_launches"), w.call("software_graph_updates")
	for range 5 {
		require.Equal(t, want, run(ctx))
	}
	require.EqualValues(t, 5, w.call("software_graph_launches")-launches)
	require.Zero(t, w.call("software_graph_updates")-updates)
}
