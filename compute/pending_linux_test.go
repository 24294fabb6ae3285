//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/memory"
)

// pendingBatch sums what a filter keeps: on a card it needs a second commit, since the filter's length comes late.
func pendingBatch(ctx context.Context, x any) (b *compute.Batch, kept, total *compute.Value) {
	b = compute.NewBatch(ctx)
	kept = b.Call("filter", nil, x, b.Call("greater", nil, x, int64(60)))
	total = b.Call("sum", nil, kept)
	b.Call("filter", nil, x, b.Call("less", nil, x, int64(60))) // comes home
	return b, kept, total
}

func checkPending(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 300)
	defer x.Release()
	warm, kept, total := pendingBatch(ctx, x)
	require.NoError(t, warm.Run())
	want := mustDatum(t, total).String()
	rows := mustDatum(t, kept)
	wantRows := rows.Len()
	rows.Release()
	warm.Release()

	const n = 1000
	emulator.SetOption("delay_us", 1_000_000)
	defer emulator.SetOption("delay_us", 0)
	before := runtime.NumGoroutine()
	batches, values, pending := make([]*compute.Batch, n), make([]*compute.Value, n), make([]*compute.Pending, n)
	for i := range pending {
		if i%20 < 2 {
			batches[i], _, values[i] = pendingBatch(ctx, x)
		} else {
			batches[i] = compute.NewBatch(ctx)
			batches[i].Call("add", nil, x, int64(i))
		}
		pending[i] = batches[i].Start()
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, pending[n-1].Wait(gone), context.Canceled)
	require.Less(t, runtime.NumGoroutine(), before+50, "goroutines of %d batches in flight", n)
	select {
	case <-pending[n-1].Done():
		t.Fatal("the last batch is not in flight any more")
	default:
	}
	for i := 0; i < n; i += 2 { // of batches under way: nothing is read from them any more
		batches[i].Release()
	}
	require.Less(t, runtime.NumGoroutine(), before+50, "goroutines of released batches")
	emulator.SetOption("delay_us", 0)
	limit := time.After(time.Minute)
	for i, p := range pending {
		select {
		case <-p.Done():
		case <-limit:
			t.Fatalf("batch %d does not end", i)
		}
		require.NoError(t, p.Wait(gone), "an end that is known is reported")
	}
	for i := 1; i < n; i += 2 {
		if values[i] != nil {
			require.Equal(t, want, mustDatum(t, values[i]).String())
		}
		batches[i].Release()
	}
	_, err := values[0].Datum()
	require.Error(t, err)

	// Many wait for one batch, while its end is told as well.
	for range 20 {
		b, kept, total := pendingBatch(ctx, x)
		p := b.Start()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := p.Wait(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.Equal(t, want, mustDatum(t, total).String())
		rows := mustDatum(t, kept)
		require.Equal(t, wantRows, rows.Len())
		rows.Release()
		b.Release()
	}

	// Nobody who runs a batch waits longer than its context; the batch is collected all the same.
	emulator.SetOption("delay_us", 50_000)
	own, stop := context.WithTimeout(ctx, time.Millisecond)
	defer stop()
	b, _, total := pendingBatch(own, x)
	require.ErrorIs(t, b.Run(), context.DeadlineExceeded)
	_, err = total.Datum()
	require.Error(t, err)
	require.Eventually(t, func() bool {
		d, err := total.Datum()
		return err == nil && d.String() == want
	}, time.Minute, time.Millisecond)
	b.Release()
}

func TestPendingBatches(t *testing.T) {
	ctx, _ := emulated(t)
	checkPending(t, ctx)
	mem := compute.GetAllocator(ctx).(*memory.Allocator)
	require.Eventually(t, func() bool { return mem.Stats().Active == 0 }, 10*time.Second, time.Millisecond, "left behind")
}

func TestPendingBatchesOnCard(t *testing.T) { checkPending(t, freshCard(t)) }

// Small aggregates, which one kernel does, on either kind of device.
func TestEagerAggregates(t *testing.T) {
	ctx, _ := emulated(t)
	checkEager(t, ctx, 0, 33, 1000, 8193)
	checkEager(t, freshCard(t), 1, 500)
}
