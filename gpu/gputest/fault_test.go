//go:build linux && (amd64 || arm64)

package gputest_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
)

func open(t *testing.T) gpu.Device {
	devices, err := emulator.Open()
	require.NoError(t, err)
	return gputest.Fault(devices[0])
}

// TestFaultDeviceIsADevice runs the conformance suite on a device with no faults.
func TestFaultDeviceIsADevice(t *testing.T) { gputest.Run(t, open) }

var seven = gpu.Source{Name: "seven", Text: `#include <metal_stdlib>
using namespace metal;
kernel void seven(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = 7u; }
`}

type rig struct {
	*testing.T
	*gputest.FaultDevice
	pipe gpu.Pipeline
	out  gpu.Buffer
}

func newRig(t *testing.T) *rig {
	d := open(t).(*gputest.FaultDevice)
	pipe, err := d.Compile(seven)
	require.NoError(t, err)
	out, err := d.Alloc(128, gpu.Shared)
	require.NoError(t, err)
	t.Cleanup(func() {
		pipe.Release()
		out.Release()
		require.NoError(t, d.Close())
	})
	return &rig{t, d, pipe, out}
}

// run dispatches and returns the errors of Commit and of Wait.
func (r *rig) run() (commit, wait error) {
	released := 0
	c := r.Commands()
	c.Retain(r.out, func() { released++ })
	c.Dispatch(r.pipe, 1, 32, []gpu.Arg{{Buf: r.out}})
	e, err := c.Commit()
	if err != nil {
		require.Equal(r, 1, released)
		return err, nil
	}
	err = e.Wait(context.Background())
	require.True(r, e.Done())
	require.Equal(r, 1, released)
	require.Less(r, e.GPUTime(), time.Minute)
	return nil, err
}

func (r *rig) good() {
	r.Helper()
	commit, wait := r.run()
	require.NoError(r, commit)
	require.NoError(r, wait)
	require.EqualValues(r, 7, binary.LittleEndian.Uint32(r.out.Host()[124:]))
}

func TestFaultCompile(t *testing.T) {
	r := newRig(t)
	r.FailCompiles(2)
	for range 2 {
		_, err := r.Compile(seven)
		require.ErrorIs(t, err, gpu.ErrCompile)
	}
	r.FailKernels(func(name string) bool { return strings.HasPrefix(name, "sev") })
	for range 3 {
		_, err := r.Compile(seven)
		require.ErrorIs(t, err, gpu.ErrCompile)
	}
	r.FailKernels(nil)
	p, err := r.Compile(seven)
	require.NoError(t, err)
	p.Release()
	require.Equal(t, gputest.Counts{Compiles: 7, Allocs: 1, Injected: 5}, r.Counts())
}

func TestFaultCorruptResults(t *testing.T) {
	r := newRig(t)
	clear(r.out.Host())
	r.CorruptKernels(func(name string) bool { return name == "seven" })
	commit, wait := r.run()
	require.NoError(t, commit)
	require.NoError(t, wait)
	require.Equal(t, make([]byte, 128), r.out.Host())
	r.CorruptKernels(nil)
	r.good()
	require.Equal(t, 1, r.Counts().Injected)
}

func TestFaultOutOfMemory(t *testing.T) {
	r := newRig(t)
	r.FailAlloc(2)
	for i := range 3 {
		b, err := r.Alloc(64, gpu.Shared)
		if i == 1 {
			require.ErrorIs(t, err, gpu.ErrOutOfMemory)
			continue
		}
		require.NoError(t, err)
		b.Release()
	}
	r.FailAllocsFrom(2)
	for i := range 4 {
		b, err := r.Alloc(64, gpu.Shared)
		if i > 0 {
			require.ErrorIs(t, err, gpu.ErrOutOfMemory)
			continue
		}
		require.NoError(t, err)
		b.Release()
	}
	r.FailAllocsFrom(0)
	b, err := r.Alloc(64, gpu.Shared)
	require.NoError(t, err)
	b.Release()
	r.FailCommit(2)
	r.good()
	commit, _ := r.run()
	require.ErrorIs(t, commit, gpu.ErrOutOfMemory)
	r.good()
}

func TestFaultCommand(t *testing.T) {
	r := newRig(t)
	r.FailCommand(1)
	commit, wait := r.run()
	require.NoError(t, commit)
	require.ErrorIs(t, wait, gpu.ErrCommand)
	r.good()
}

func TestFaultDeviceLost(t *testing.T) {
	r := newRig(t)
	r.Lose(2)
	r.good()
	commit, wait := r.run()
	require.NoError(t, commit)
	require.ErrorIs(t, wait, gpu.ErrDeviceLost)
	commit, _ = r.run()
	require.ErrorIs(t, commit, gpu.ErrDeviceLost)
	_, err := r.Compile(seven)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	_, err = r.Alloc(1, gpu.Shared)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	_, err = r.Wrap(r.out.Host())
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
}
