//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
	"github.com/broadhead-go/broadhead/resident"
)

// onBoth runs a test on the device if there is one, and in software.
func onBoth(t *testing.T, f func(t *testing.T, d gpu.Device)) {
	t.Run("device", func(t *testing.T) {
		if d := open(t); d != nil {
			defer d.Close()
			f(t, d)
		}
	})
	t.Run("software", func(t *testing.T) {
		d := startSoftware(t).device(t)
		f(t, d)
		require.NoError(t, d.Close())
	})
}

// put is shared memory with values in it.
func put(t *testing.T, d gpu.Device, values any) gpu.Buffer {
	t.Helper()
	raw, err := binary.Append(nil, binary.LittleEndian, values)
	require.NoError(t, err)
	b, err := d.Alloc(len(raw), gpu.Shared)
	require.NoError(t, err)
	copy(b.Host(), raw)
	return b
}

func TestWorker(t *testing.T) {
	onBoth(t, func(t *testing.T, d gpu.Device) {
		w, err := resident.NewWorker(d, resident.WorkerOptions{Members: 2, Solo: 600, Idle: time.Second, Lifetime: 2 * time.Second})
		require.NoError(t, err)
		defer w.Close()
		rng := rand.New(rand.NewPCG(1, 2))
		ctx := context.Background()
		for _, n := range []int{1, 33, 601, 2100} {
			a, b := make([]int64, n), make([]int64, n)
			var sum, low, high int64 = 0, math.MaxInt64, math.MinInt64
			for i := range a {
				a[i], b[i] = int64(rng.Uint64()), int64(rng.Uint64N(9))-4
				sum, low, high = sum+a[i], min(low, a[i]), max(high, a[i])
			}
			left, right := put(t, d, a), put(t, d, b)
			out, err := d.Alloc(8*n, gpu.Shared)
			require.NoError(t, err)
			words := make([]uint32, (n+31)/32)
			tasks := []gpu.Task{
				{Op: gpu.WorkerSum, Type: msl.I64, N: n, A: gpu.View{Buf: left}},
				{Op: gpu.WorkerMinMax, Type: msl.I64, N: n, A: gpu.View{Buf: left}},
				{Op: gpu.WorkerAdd, Type: msl.I64, N: n, A: gpu.View{Buf: left}, B: gpu.View{Buf: right}, Out: gpu.View{Buf: out}},
				{Op: gpu.WorkerSum, Type: msl.I64, N: n, A: gpu.View{Buf: out}},
				{Op: gpu.WorkerGreater, Type: msl.I64, N: n, A: gpu.View{Buf: right}, Literal: math.MaxUint64, Bits: words},
			}
			start := time.Now()
			require.NoError(t, w.Do(ctx, tasks))
			t.Log(n, "rows", time.Since(start))
			require.Equal(t, sum, int64(tasks[0].Result.Value))
			require.Equal(t, n, tasks[0].Result.Rows)
			require.Equal(t, low, int64(tasks[1].Result.Value))
			require.Equal(t, high, int64(tasks[1].Result.Max))
			all := int64(0)
			for i := range a {
				v := int64(binary.LittleEndian.Uint64(out.Host()[8*i:]))
				require.Equal(t, a[i]+b[i], v)
				all += v
				require.Equal(t, b[i] > -1, words[i/32]>>(i%32)&1 == 1)
			}
			require.Equal(t, all, int64(tasks[3].Result.Value))

			mask := put(t, d, words)
			kept := 0
			for _, w := range words {
				kept += bits.OnesCount32(w)
			}
			filter := []gpu.Task{{Op: gpu.WorkerFilter, Type: msl.I64, N: n, A: gpu.View{Buf: left}, B: gpu.View{Buf: mask}, Out: gpu.View{Buf: out}}}
			require.NoError(t, w.Do(ctx, filter))
			require.Equal(t, kept, filter[0].Result.Rows)
			at := 0
			for i := range a {
				if b[i] > -1 {
					require.Equal(t, a[i], int64(binary.LittleEndian.Uint64(out.Host()[8*at:])), "row %d of %d", i, n)
					at++
				}
			}
			for _, x := range []gpu.Buffer{left, right, out, mask} {
				x.Release()
			}
		}
	})
}

// What may wait for the whole device happens beside a worker that is never idle.
func TestWorkerMakesWay(t *testing.T) {
	onBoth(t, func(t *testing.T, d gpu.Device) {
		w, err := resident.NewWorker(d, resident.WorkerOptions{Members: 2, Lanes: 1})
		require.NoError(t, err)
		defer w.Close()
		numbers := make([]int64, 100)
		for i := range numbers {
			numbers[i] = int64(i)
		}
		column := put(t, d, numbers)
		defer column.Release()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		busy := make(chan error, 1)
		sums := new(atomic.Int64)
		go func() {
			for ctx.Err() == nil {
				task := []gpu.Task{{Op: gpu.WorkerSum, Type: msl.I64, N: 100, A: gpu.View{Buf: column}}}
				if err := w.Do(context.Background(), task); err != nil || task[0].Result.Value != 4950 {
					busy <- fmt.Errorf("%d: %w", task[0].Result.Value, err)
					return
				}
				sums.Add(1)
			}
			busy <- nil
		}()
		seen := int64(0)
		work := func(what string, f func()) {
			for sums.Load() == seen { // it is at work
				time.Sleep(time.Millisecond)
			}
			start := time.Now()
			f()
			t.Logf("%s: %v", what, time.Since(start))
			seen = sums.Load()
		}
		var p gpu.Pipeline
		work("compile and load", func() {
			p, err = d.Compile(gpu.Source{Name: "none", Text: "kernel void none(device int* a [[buffer(0)]]) { a[0] = 1; }"})
			require.NoError(t, err)
		})
		work("dispatch", func() {
			c := d.Commands()
			out := put(t, d, make([]int32, 4))
			defer out.Release()
			c.Dispatch(p, 1, 32, []gpu.Arg{{Buf: out}})
			e, err := c.Commit()
			require.NoError(t, err)
			require.NoError(t, e.Wait(context.Background()))
			require.EqualValues(t, 1, out.Host()[0])
		})
		work("unload", p.Release)
		for name, place := range map[string]gpu.Place{"device memory": gpu.Private, "host memory": gpu.Shared} {
			var b gpu.Buffer
			work("allocate "+name, func() {
				b, err = d.Alloc(32<<20, place)
				require.NoError(t, err)
			})
			work("free "+name, b.Release)
		}
		work("give the pool back", func() {
			s, err := d.(*device).ctx.begin()
			require.NoError(t, err)
			d.(*device).pool.empty(s)
			s.end()
		})
		work("nothing", func() {})
		cancel()
		require.NoError(t, <-busy)
	})
}

// A worker whose device is closed under it says so, and its kernel has ended.
func TestWorkerOfClosedDevice(t *testing.T) {
	d := startSoftware(t).device(t)
	w, err := resident.NewWorker(d, resident.WorkerOptions{Members: 1, Lanes: 1})
	require.NoError(t, err)
	column := put(t, d, make([]int64, 10))
	task := []gpu.Task{{Op: gpu.WorkerSum, Type: msl.I64, N: 10, A: gpu.View{Buf: column}}}
	require.NoError(t, w.Do(context.Background(), task))
	require.NoError(t, d.Close())
	require.ErrorIs(t, w.Do(context.Background(), task), gpu.ErrClosed)
	column.Release()
	w.Close()
	require.ErrorIs(t, w.Do(context.Background(), task), gpu.ErrClosed)
}

func TestProbeInSoftware(t *testing.T) {
	onBoth(t, func(t *testing.T, d gpu.Device) {
		o := resident.Options{Window: 60 * time.Millisecond, Interval: 5 * time.Millisecond}
		if strings.HasPrefix(d.Info().Name, "software") { // which has no PTX, and compiles slowly
			o.Forms = []string{"volatile", "coherent(system) + system seq_cst fence", "ld.volatile"}
		}
		r, err := resident.Probe(context.Background(), d, o)
		require.NoError(t, err)
		t.Log("\n" + r.String())
		for _, row := range r.Rows {
			if row.Form == "volatile" {
				require.GreaterOrEqual(t, row.Seen, row.Sent-1)
			}
		}
	})
}
