//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/computetest"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
	"github.com/broadhead-go/broadhead/gpu"
	_ "github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/memory"
)

// discrete is the emulator as a card with memory of its own: what kernels write stays in buffers that the host does not
// see, and comes home by copies.
type discrete struct{ gpu.Device }

func (d discrete) Info() gpu.Info {
	info := d.Device.Info()
	info.Unified = false
	return info
}

func onCard(t *testing.T) (context.Context, gpu.Device) {
	dev, err := gpu.Open("emulator")
	require.NoError(t, err)
	card := gpu.Device(discrete{dev})
	require.NoError(t, compute.SetCrossover("", 0))
	t.Cleanup(func() { compute.SetCrossover("", -1) })
	return compute.WithAllocator(compute.WithDevice(context.Background(), card), memory.New(card)), card
}

// Every case holds on a device with memory of its own, from host memory.
func TestDiscrete(t *testing.T) {
	ctx, _ := onCard(t)
	computetest.RunAll(t, ctx)
}

func numbers(mem arrowmem.Allocator, n int) *array.Int64 {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	for i := range n {
		if i%11 == 3 {
			b.AppendNull()
		} else {
			b.Append(int64(i*7919%1000 - 500))
		}
	}
	return b.NewInt64Array()
}

// Calls find the copies that ToDevice made, slices included, from any memory; without them they read the host's.
func TestToDevice(t *testing.T) {
	ctx, card := onCard(t)
	for name, mem := range map[string]arrowmem.Allocator{"own": compute.GetAllocator(ctx), "foreign": arrowmem.DefaultAllocator} {
		t.Run(name, func(t *testing.T) {
			arr := numbers(mem, 5000)
			defer arr.Release()
			s := array.NewSlice(arr, 33, 4000)
			defer s.Release()
			want, err := compute.SumArray(compute.WithDevice(ctx, nil), nil, s)
			require.NoError(t, err)

			col, err := compute.ToDevice(ctx, arr)
			require.NoError(t, err)
			d, err := compute.Explain(ctx, "sum", nil, compute.NewDatumWithoutOwning(s))
			require.NoError(t, err)
			require.Equal(t, compute.DeviceMemory, d.Place)
			got, err := compute.SumArray(ctx, nil, s)
			require.NoError(t, err)
			require.NoError(t, equal.Scalars(got, want))
			back, err := col.Array(ctx)
			require.NoError(t, err)
			require.NoError(t, equal.Arrays(back, arr))
			back.Release()

			require.NoError(t, compute.SetDeviceBudget(ctx, 0)) // everything is evicted, nothing fails
			got, err = compute.SumArray(ctx, nil, s)
			require.NoError(t, err)
			require.NoError(t, equal.Scalars(got, want))
			require.NoError(t, compute.SetDeviceBudget(ctx, card.Info().MemoryBytes/2))
			col.Release()
			col.Release()
			_, err = col.Array(ctx)
			require.Error(t, err)
			d, err = compute.Explain(ctx, "sum", nil, compute.NewDatumWithoutOwning(s))
			require.NoError(t, err)
			require.NotEqual(t, compute.DeviceMemory, d.Place)
		})
	}
	_, err := compute.ToDevice(compute.WithDevice(ctx, nil), numbers(arrowmem.DefaultAllocator, 1))
	require.ErrorIs(t, err, gpu.ErrNoDevice)
	_, err = compute.ToDevice(ctx, struct{}{})
	require.Error(t, err)
	require.Error(t, compute.SetDeviceBudget(ctx, -1))
}

// A kept column feeds the next batch from the device; results that only fed other calls come home when asked for.
func TestKeepOnCard(t *testing.T) {
	ctx, _ := onCard(t)
	arr := numbers(compute.GetAllocator(ctx), 3000)
	defer arr.Release()
	run := func(ctx context.Context) (mid, sum compute.Datum) {
		b := compute.NewBatch(ctx)
		defer b.Release()
		mask := b.Call("greater", nil, arr, int64(0))
		kept := b.Call("filter", nil, arr, mask)
		col := b.Keep(kept)
		defer col.Release()
		twice := b.Call("add_unchecked", nil, kept, kept)
		b.Call("sum", nil, twice)
		require.NoError(t, b.Run())
		mid, err := twice.Datum()
		require.NoError(t, err)
		c := compute.NewBatch(ctx)
		defer c.Release()
		total := c.Call("sum", nil, col)
		require.NoError(t, c.Run())
		sum, err = total.Datum()
		require.NoError(t, err)
		return mid, sum
	}
	mid, sum := run(ctx)
	wantMid, wantSum := run(compute.WithDevice(ctx, nil))
	require.NoError(t, equal.Datums(mid, wantMid))
	require.NoError(t, equal.Datums(sum, wantSum))
}
