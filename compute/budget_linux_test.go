//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

func useOf(t *testing.T, ctx context.Context) compute.DeviceUse {
	t.Helper()
	u, err := compute.DeviceUseOf(ctx)
	require.NoError(t, err)
	return u
}

// freshCard is a device of its own, with an engine that no other test has used.
func freshCard(t *testing.T) context.Context {
	t.Helper()
	dev, err := gpu.Open("emulator")
	require.NoError(t, err)
	return onDevice(t, &card{dev})
}

// card is discrete, and another device each time.
type card struct{ gpu.Device }

func (c *card) Info() gpu.Info {
	info := c.Device.Info()
	info.Unified = false
	return info
}

// sumOf is a column and its sum.
type sumOf struct {
	arr  arrow.Array
	want int64
}

// slicesOf cuts columns of n rows each from one block of memory: different buffers, as many readers make them.
func slicesOf(t *testing.T, mem arrowmem.Allocator, columns, rows int) []sumOf {
	t.Helper()
	all := arrowmem.NewResizableBuffer(mem)
	all.Resize(8 * columns * rows)
	t.Cleanup(all.Release)
	values := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(all.Bytes()))), columns*rows)
	out := make([]sumOf, columns)
	for c := range out {
		for i := range rows {
			v := int64(c*1000 + i%7)
			values[c*rows+i] = v
			out[c].want += v
		}
		out[c].arr = cut(all, c*rows, rows)
		t.Cleanup(out[c].arr.Release)
	}
	return out
}

// cut is an array over rows [from, from+n) of a buffer, with a buffer of its own.
func cut(all *arrowmem.Buffer, from, n int) arrow.Array {
	buf := arrowmem.NewBufferBytes(all.Bytes()[8*from : 8*(from+n)])
	defer buf.Release()
	data := array.NewData(arrow.PrimitiveTypes.Int64, n, []*arrowmem.Buffer{nil, buf}, nil, 0, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func TestBudgetOnEmulator(t *testing.T) { checkBudget(t, freshCard(t), 16, 4096) }

func TestBudgetOnCUDA(t *testing.T) {
	if dev := cudaDevice(t); dev != nil {
		ctx := onDevice(t, dev)
		before := heldNow(t, dev)
		checkBudget(t, ctx, 256, 1<<20) // 2 GiB of columns, 1 GiB of budget
		after := heldNow(t, dev)
		t.Logf("%v; before: %v", after, before)
		require.LessOrEqual(t, after.device, before.device+dev.Info().MemoryBytes/4, "more than pools keep")
	}
}

// checkBudget has 64 goroutines bring columns to the device that are twice its budget together, and call functions over
// them. Every answer is right, and the budget is never exceeded.
func checkBudget(t *testing.T, ctx context.Context, columns, rows int) {
	cols := slicesOf(t, compute.GetAllocator(ctx), columns, rows)
	budget := int64(columns) * int64(8*rows) / 2
	old := useOf(t, ctx)
	require.NoError(t, compute.SetDeviceBudget(ctx, budget))
	defer func() { _ = compute.SetDeviceBudget(ctx, old.Budget) }()
	var all sync.WaitGroup
	var over atomic.Int64
	for g := range 64 {
		all.Go(func() {
			for i := range 2 {
				c := cols[(g*7+i*13)%columns]
				col, err := compute.ToDevice(ctx, c.arr)
				if err != nil {
					t.Error(err)
					return
				}
				sum, err := compute.SumArray(ctx, nil, c.arr)
				if err != nil || sum.String() != fmt.Sprint(c.want) {
					t.Errorf("goroutine %d: %v, %v; want %d", g, sum, err, c.want)
				}
				if u, err := compute.DeviceUseOf(ctx); err != nil || u.Bytes > budget {
					over.Add(1)
				}
				col.Release()
			}
		})
	}
	all.Wait()
	u := useOf(t, ctx)
	t.Logf("%+v", u)
	require.Zero(t, over.Load())
	require.LessOrEqual(t, u.Peak, max(budget, old.Peak))
	require.Zero(t, u.Bytes, "no handle is left")
	require.Zero(t, u.Columns)
	require.Zero(t, u.Kernels)

	// Held, they do not all fit; those that do not are read from the host.
	var handles []*compute.Column
	for _, c := range cols {
		h, err := compute.ToDevice(ctx, c.arr)
		require.NoError(t, err)
		handles = append(handles, h)
	}
	u = useOf(t, ctx)
	require.Positive(t, u.Evicted)
	require.Positive(t, u.Columns)
	require.LessOrEqual(t, u.Bytes, budget)
	for _, i := range []int{0, columns - 1} {
		sum, err := compute.SumArray(ctx, nil, cols[i].arr)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(cols[i].want), sum.String())
	}
	for _, h := range handles {
		h.Release()
	}
	// One that alone is too large stays where it is.
	refused := useOf(t, ctx).Refused
	require.NoError(t, compute.SetDeviceBudget(ctx, int64(8*rows)-1))
	h, err := compute.ToDevice(ctx, cols[0].arr)
	require.NoError(t, err)
	why, err := compute.Explain(ctx, "sum", nil, compute.NewDatumWithoutOwning(cols[0].arr))
	require.NoError(t, err)
	require.Equal(t, compute.HostMemory, why.Place)
	h.Release()
	require.Equal(t, refused+1, useOf(t, ctx).Refused)
	require.Zero(t, useOf(t, ctx).Bytes)
}

func TestMixedSizesOnEmulator(t *testing.T) {
	checkMixedSizes(t, freshCard(t), 1<<20, 40_000, 2*time.Second/3)
}

func TestMixedSizesOnCUDA(t *testing.T) {
	dev := cudaDevice(t)
	if dev == nil {
		return
	}
	took := 5 * time.Second
	if soakCalls(t, 0) > 0 {
		took = 20 * time.Second
	}
	ctx := onDevice(t, dev)
	checkMixedSizes(t, ctx, 2<<30, 64<<20, took/5)
	before := heldNow(t, dev)
	checkMixedSizes(t, ctx, 2<<30, 64<<20, took)
	after := heldNow(t, dev)
	t.Logf("%v; before: %v", after, before)
	// What is not in use lies in pools, which keep an eighth of the device's memory each.
	require.LessOrEqual(t, after.device-before.device, dev.Info().MemoryBytes/4)
	require.NoError(t, compute.TrimDevice(ctx))
	trimmed := heldNow(t, dev)
	t.Logf("trimmed: %v", trimmed)
	require.Less(t, trimmed.device, before.device)
	require.LessOrEqual(t, after.rss, before.rss+64<<20)
}

// checkMixedSizes has goroutines bring columns of very different sizes to the device, compute with them and let go of
// them in another order, under a budget that is smaller than what they want.
func checkMixedSizes(t *testing.T, ctx context.Context, budget int64, most int, took time.Duration) {
	mem := compute.GetAllocator(ctx).(*memory.Allocator)
	all := arrowmem.NewResizableBuffer(mem)
	all.Resize(8 * most)
	defer all.Release()
	values := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(all.Bytes()))), most)
	for i := range values {
		values[i] = 3
	}
	old := useOf(t, ctx)
	require.NoError(t, compute.SetDeviceBudget(ctx, budget))
	defer func() { _ = compute.SetDeviceBudget(ctx, old.Budget) }()
	active := mem.Stats().Active
	var workers sync.WaitGroup
	var columns atomic.Int64
	until := time.Now().Add(took)
	for g := range uint64(8) {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(1, g))
			var handles []*compute.Column
			for time.Now().Before(until) {
				n := 1 + int(float64(most-1)*rng.Float64()*rng.Float64()*rng.Float64())
				arr := cut(all, rng.IntN(most-n+1), n)
				h, err := compute.ToDevice(ctx, arr)
				if err != nil {
					t.Error(err)
					arr.Release()
					break
				}
				columns.Add(1)
				handles = append(handles, h)
				if err := sumOfTwice(ctx, arr, 6*int64(n)); err != nil {
					t.Error(err)
				}
				arr.Release()
				for len(handles) > 6 || len(handles) > 0 && rng.IntN(4) == 0 {
					i := rng.IntN(len(handles))
					handles[i].Release()
					handles = append(handles[:i], handles[i+1:]...)
				}
			}
			for _, h := range handles {
				h.Release()
			}
		})
	}
	workers.Wait()
	u := useOf(t, ctx)
	t.Logf("%d columns: %+v", columns.Load(), u)
	require.LessOrEqual(t, u.Peak, max(budget, old.Peak))
	require.Zero(t, u.Bytes)
	require.Zero(t, u.Kernels)
	require.Equal(t, active, mem.Stats().Active)
	require.Zero(t, mem.Stats().Parked)
}

// sumOfTwice adds a column to itself on the device and sums that up.
func sumOfTwice(ctx context.Context, arr arrow.Array, want int64) error {
	b := compute.NewBatch(ctx)
	defer b.Release()
	total := b.Call("sum", nil, b.Call("add_unchecked", nil, arr, arr))
	if err := b.Run(); err != nil {
		return err
	}
	d, err := total.Datum()
	if err != nil {
		return err
	}
	defer d.Release()
	if got := d.(*compute.ScalarDatum).Value.String(); got != fmt.Sprint(want) {
		return fmt.Errorf("the sum of %d rows is %s, not %d", arr.Len(), got, want)
	}
	return nil
}
