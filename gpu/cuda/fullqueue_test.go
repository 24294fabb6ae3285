//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

func TestFullQueuesInSoftware(t *testing.T) {
	w := startSoftware(t)
	for _, long := range []bool{false, true} {
		checkFullQueues(t, w.device(t), long)
		require.Eventually(t, func() bool { return w.live("context") == 0 }, 10*time.Second, time.Millisecond)
	}
}

func TestFullQueues(t *testing.T) {
	for _, long := range []bool{false, true} {
		if d := open(t); d != nil {
			checkFullQueues(t, d, long)
		}
	}
}

// checkFullQueues has kernels that do not end on all streams and more work behind them than the driver takes, in many
// commits or in one: nobody hangs, and nothing is given back before it has ended.
func checkFullQueues(t *testing.T, d gpu.Device, long bool) {
	defer gpu.SetCommandTimeout(gpu.CommandTimeout())
	stop, err := d.Alloc(4096, gpu.Shared)
	require.NoError(t, err)
	out, err := d.Alloc(4096, gpu.Shared)
	require.NoError(t, err)
	word := (*atomic.Uint32)(unsafe.Pointer(&stop.Host()[0]))
	word.Store(0)
	p, err := d.Compile(endless)
	require.NoError(t, err)
	nothing, err := d.Compile(gpu.Source{Name: "nothing", Text: "kernel void nothing(device int* a [[buffer(0)]]) {}"})
	require.NoError(t, err)
	require.NoError(t, work(d))

	gpu.SetCommandTimeout(500 * time.Millisecond)
	var retained, released atomic.Int64
	commit := func(endless bool, times int) (gpu.Event, error) {
		c := d.Commands()
		retained.Add(1)
		c.Retain(nil, func() { released.Add(1) })
		if endless {
			c.Dispatch(p, 1, 1, []gpu.Arg{{Buf: stop}, {Buf: out}})
		}
		for range times {
			c.Dispatch(nothing, 1, 1, []gpu.Arg{{Buf: out}})
		}
		return c.Commit()
	}
	ended := make(chan error, 1)
	go func() {
		if long {
			_, err := commit(true, 3000)
			ended <- err
			return
		}
		for range maxStreams {
			if _, err := commit(true, 0); err != nil {
				ended <- err
				return
			}
		}
		for range 20_000 {
			if _, err := commit(false, 1); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	select {
	case err = <-ended:
	case <-time.After(30 * time.Second):
		word.Store(1)
		t.Fatal("a commit hangs in the driver")
	}
	require.ErrorIs(t, err, gpu.ErrTimeout)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	require.LessOrEqual(t, released.Load(), int64(1), "only the commit that found no room has ended")

	word.Store(1)
	require.Eventually(t, func() bool { return released.Load() == retained.Load() }, time.Minute, time.Millisecond)
	stop.Release()
	out.Release()
	p.Release()
	nothing.Release()
	_ = d.Close() // it was lost
}

// A long commit does what it records, once and in order.
func TestLongCommitInSoftware(t *testing.T) {
	d := startSoftware(t).device(t)
	checkLongCommit(t, d)
	require.NoError(t, d.Close())
}

func TestLongCommit(t *testing.T) {
	if d := open(t); d != nil {
		checkLongCommit(t, d)
		require.NoError(t, d.Close())
	}
}

func checkLongCommit(t *testing.T, d gpu.Device) {
	triple, err := d.Compile(gpu.Source{Name: "triple", Text: "kernel void triple(device uint* a [[buffer(0)]], constant uint& k [[buffer(1)]]) { a[0] = a[0] * 3u + k; }"})
	require.NoError(t, err)
	defer triple.Release()
	b, err := d.Alloc(4096, gpu.Shared)
	require.NoError(t, err)
	defer b.Release()
	got := (*uint32)(unsafe.Pointer(&b.Host()[0]))
	for _, n := range []int{markEvery - 4, markEvery - 3, markEvery, 4*markEvery + 1, 2000} {
		*got = 1
		want := uint32(1)
		c := d.Commands()
		for i := range n {
			want = want*3 + uint32(i)
			c.Dispatch(triple, 1, 1, []gpu.Arg{{Buf: b}, {Bytes: []byte{byte(i), byte(i >> 8), 0, 0}}})
			c.Barrier()
		}
		e, err := c.Commit()
		require.NoError(t, err)
		require.NoError(t, e.Wait(context.Background()))
		require.Equal(t, want, *got, "%d steps", n)
	}
}
