//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/cuda"
)

// TestZLost comes last, in the last of the outer package's files: an illegal address ends the context, and with it every
// device of this process.
func TestZLost(t *testing.T) {
	d, err := gpu.Open("cuda")
	if err != nil {
		t.Logf("nothing to test: %v", err)
		return
	}
	p, err := d.Compile(gpu.Source{Name: "wild", Text: `kernel void wild(device uint* a [[buffer(0)]], constant ulong& off [[buffer(1)]],
    uint i [[thread_position_in_grid]]) { a[off + i] = 1u; }`})
	require.NoError(t, err)
	host, err := d.Alloc(4096, gpu.Shared)
	require.NoError(t, err)
	private, err := d.Alloc(4096, gpu.Private)
	require.NoError(t, err)
	released := make(chan struct{})
	c := d.Commands()
	c.Retain(nil, func() { close(released) })
	c.Dispatch(p, 1, 32, []gpu.Arg{{Buf: private}, {Bytes: []byte{0, 0, 0, 0, 0, 0, 0, 16}}})
	e, err := c.Commit()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = e.Wait(ctx)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	require.ErrorContains(t, err, "CUDA_ERROR_ILLEGAL_ADDRESS")
	require.Equal(t, err, e.Wait(ctx))
	select {
	case <-released:
	case <-ctx.Done():
		t.Fatal("what the failed work retained is not released")
	}
	_, err = d.Alloc(100, gpu.Shared)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	_, err = d.Compile(gpu.Source{Name: "late", Text: "kernel void late(device int* a [[buffer(0)]]) {}"})
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	c = d.Commands()
	c.Copy(host, 0, private, 0, 4)
	_, err = c.Commit()
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	host.Host()[0] = 1 // the memory stays the owner's
	host.Release()
	private.Release()
	p.Release()
	require.NoError(t, d.Close())
	_, err = cuda.Open()
	require.True(t, err == nil || errors.Is(err, gpu.ErrNoDevice) || err.Error() != "", "opening again ends, well or badly")
	t.Logf("opening again after the loss: %v", err)
}
