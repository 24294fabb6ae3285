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

// endless runs until the host stores a number other than zero.
var endless = gpu.Source{Name: "endless", Text: `#include <metal_stdlib>
using namespace metal;
kernel void endless(device atomic_uint* stop [[buffer(0)]], device uint* out [[buffer(1)]]) {
    while (atomic_load_explicit(stop, memory_order_relaxed) == 0u) {}
    out[0] = 7u; }`}

func TestEndlessKernelInSoftware(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	checkEndlessKernel(t, d)
	require.Eventually(t, func() bool { return w.live("context") == 0 }, 10*time.Second, time.Millisecond)
}

func TestEndlessKernel(t *testing.T) {
	if d := open(t); d != nil {
		checkEndlessKernel(t, d)
	}
}

// checkEndlessKernel has a kernel run past the deadline, and end when nobody expects it any more.
func checkEndlessKernel(t *testing.T, d gpu.Device) {
	defer gpu.SetCommandTimeout(gpu.CommandTimeout())
	var buffers [4]gpu.Buffer
	for i, place := range []gpu.Place{gpu.Shared, gpu.Shared, gpu.Shared, gpu.Private} {
		b, err := d.Alloc(8192, place)
		require.NoError(t, err)
		buffers[i] = b
	}
	stop, out, spare, private := buffers[0], buffers[1], buffers[2], buffers[3]
	word := (*atomic.Uint32)(unsafe.Pointer(&stop.Host()[0]))
	word.Store(0)
	result := (*atomic.Uint32)(unsafe.Pointer(&out.Host()[0]))
	result.Store(0)
	p, err := d.Compile(endless)
	require.NoError(t, err)
	other, err := d.Compile(gpu.Source{Name: "other", Text: "kernel void other(device int* a [[buffer(0)]]) {}"})
	require.NoError(t, err)
	late := gpu.Source{Name: "late", Text: "kernel void late(device int* a [[buffer(0)]]) { a[0] = 1; }"}
	require.NoError(t, work(d))

	gpu.SetCommandTimeout(300 * time.Millisecond)
	released := make(chan struct{})
	c := d.Commands()
	c.Retain(nil, func() { close(released) })
	c.Dispatch(p, 1, 1, []gpu.Arg{{Buf: stop}, {Buf: out}})
	e, err := c.Commit()
	require.NoError(t, err)
	// What the driver holds until the kernel has ended does not hold its callers longer than the device has time.
	held := make(chan error, 3)
	go func() {
		spare.Release()
		held <- gpu.ErrDeviceLost
	}()
	go func() {
		other.Release()
		held <- gpu.ErrDeviceLost
	}()
	go func() {
		_, err := d.Compile(late)
		held <- err
	}()
	start := time.Now()
	err = e.Wait(context.Background())
	require.ErrorIs(t, err, gpu.ErrTimeout)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	require.True(t, e.Done())
	for range cap(held) {
		select {
		case err := <-held:
			require.ErrorIs(t, err, gpu.ErrDeviceLost)
		case <-time.After(30 * time.Second):
			t.Fatal("a call hangs in the driver")
		}
	}

	// The device is lost; nobody waits for it.
	_, err = d.Alloc(100, gpu.Shared)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	_, err = d.Compile(copyKernel)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	for _, b := range []gpu.Buffer{stop, out, private} {
		b.Release()
	}
	p.Release()
	require.ErrorIs(t, d.Close(), gpu.ErrTimeout)
	require.Less(t, time.Since(start), 30*time.Second)
	select {
	case <-released:
		t.Fatal("what the kernel uses is released while it runs")
	default:
	}

	// What it may write stays until it has ended.
	require.Zero(t, result.Load())
	word.Store(1)
	select {
	case <-released:
	case <-time.After(time.Minute):
		t.Fatal("what an ended kernel used is not released")
	}
}
