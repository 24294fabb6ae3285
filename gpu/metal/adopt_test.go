//go:build linux && (amd64 || arm64)

package metal_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
	"github.com/broadhead-go/broadhead/gpu/metal"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
)

// application is a device that stands for an application's: its MTLDevice and its queue.
func application(t *testing.T) (libs metal.Libs, app gpu.Device, dev, queue uintptr) {
	lib, err := emulator.Lib()
	require.NoError(t, err)
	devices, err := emulator.Open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, devices[0].Close()) })
	dev, queue = metal.Objects(devices[0])
	return metal.Libs{ObjC: lib, Metal: lib}, devices[0], dev, queue
}

func TestAdoptedDevicePassesTheSuite(t *testing.T) {
	libs, _, dev, queue := application(t)
	gputest.Run(t, func(t *testing.T) gpu.Device {
		d, err := metal.Adopt(libs, "emulator", dev, queue)
		require.NoError(t, err)
		return d
	})
}

// TestBuffersAreShared has an application and an adopted device write to the same buffers, each made by the other.
func TestBuffersAreShared(t *testing.T) {
	libs, app, dev, queue := application(t)
	require.Eventually(t, func() bool { return emulator.Live("EmuMTLBuffer") == 0 }, 10*time.Second, time.Millisecond)
	for name, q := range map[string]uintptr{"the application's queue": queue, "a queue of its own": 0} {
		t.Run(name, func(t *testing.T) {
			ours, err := metal.Adopt(libs, "emulator", dev, q)
			require.NoError(t, err)
			defer ours.Close()
			theirs, err := app.Alloc(64, gpu.Shared)
			require.NoError(t, err)
			object, err := metal.Object(theirs)
			require.NoError(t, err)
			in, err := metal.Import(ours, object, theirs.Host(), theirs.Len())
			require.NoError(t, err)
			copy(in.Host(), "from the application")

			out, err := ours.Alloc(64, gpu.Shared)
			require.NoError(t, err)
			c := ours.Commands()
			c.Copy(out, 0, in, 0, 64)
			e, err := c.Commit()
			require.NoError(t, err)
			require.NoError(t, e.Wait(context.Background()))
			require.Equal(t, "from the application", string(out.Host()[:20]))

			object, err = metal.Object(out)
			require.NoError(t, err)
			back, err := metal.Import(app, object, out.Host(), out.Len())
			require.NoError(t, err)
			c = app.Commands()
			c.Copy(back, 32, back, 0, 32)
			e, err = c.Commit()
			require.NoError(t, err)
			require.NoError(t, e.Wait(context.Background()))
			require.Equal(t, "from the application", string(out.Host()[32:52]))
			for _, b := range []gpu.Buffer{back, in, out, theirs} {
				b.Release()
			}
		})
	}
	require.Eventually(t, func() bool { return emulator.Live("EmuMTLBuffer") == 0 }, 10*time.Second, time.Millisecond)
}

func TestAdoptRefusesWhatItCannotUse(t *testing.T) {
	libs, app, dev, _ := application(t)
	_, err := metal.Adopt(libs, "emulator", 0, 0)
	require.ErrorIs(t, err, gpu.ErrNoDevice)
	ours, err := metal.Adopt(libs, "emulator", dev, 0)
	require.NoError(t, err)
	b, err := ours.Alloc(64, gpu.Shared)
	require.NoError(t, err)
	object, err := metal.Object(b)
	require.NoError(t, err)
	_, err = metal.Import(ours, 0, nil, 64)
	require.ErrorContains(t, err, "no MTLBuffer")
	_, err = metal.Import(ours, object, b.Host(), 65)
	require.ErrorContains(t, err, "65 bytes with 64")
	_, err = metal.Import(ours, object, nil, 0)
	require.ErrorContains(t, err, "0 bytes")
	_, err = metal.Import(gputest.Fault(app), object, nil, 64)
	require.ErrorIs(t, err, gpu.ErrUnsupported)
	_, err = metal.Object(nil)
	require.ErrorIs(t, err, gpu.ErrUnsupported)
	b.Release()
	_, err = metal.Object(b)
	require.ErrorIs(t, err, gpu.ErrClosed)
	require.NoError(t, ours.Close())
	_, err = metal.Import(ours, object, nil, 64)
	require.ErrorIs(t, err, gpu.ErrClosed)
}
