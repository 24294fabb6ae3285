package gputest

import (
	"context"
	"errors"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// faultChecks are for devices that offer Faults.
var faultChecks = []check{
	{"FailedCommand", checkFailedCommand},
	{"FailedCommandUnwaited", checkFailedCommandUnwaited},
	{"FailedAlloc", checkFailedAlloc},
	{"FailedPipeline", checkFailedPipeline},
	{"DeviceLost", checkDeviceLost},
}

// checkFailedCommand has a command fail beside good ones: each waiter hears of its own.
func checkFailedCommand(b *bench) {
	const n = 64
	p := b.compile("fill")
	commit := func() (gpu.Event, []uint32, *int) {
		out, got := alloc[uint32](b, n)
		released := new(int)
		c := b.dev.Commands()
		c.Retain(out, func() { *released++ })
		c.Dispatch(p, 2, 32, args(value(n, 32), out))
		return b.commit(c), got, released
	}
	for range 3 {
		good, goodGot, _ := commit()
		require.NoError(b, b.wait(good))
		b.faults.FailNextCommand()
		bad, _, badReleased := commit()
		after, afterGot, _ := commit()
		err := b.wait(bad)
		require.ErrorIs(b, err, gpu.ErrCommand)
		var e *gpu.CommandError
		require.True(b, errors.As(err, &e))
		require.NotEmpty(b, e.Log)
		require.True(b, bad.Done())
		require.Equal(b, err, b.wait(bad), "the verdict stays")
		require.Equal(b, 1, *badReleased)
		require.NoError(b, b.wait(after))
		require.EqualValues(b, n, goodGot[n-1])
		require.EqualValues(b, n, afterGot[n-1])
	}
}

// checkFailedCommandUnwaited has a command fail that nobody waits for.
func checkFailedCommandUnwaited(b *bench) {
	p := b.compile("fill")
	out, _ := alloc[uint32](b, 32)
	released := make(chan struct{})
	b.faults.FailNextCommand()
	c := b.dev.Commands()
	c.Retain(out, func() { close(released) })
	c.Dispatch(p, 1, 32, args(value(32, 32), out))
	b.commit(c)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	select {
	case <-released:
	case <-ctx.Done():
		b.Fatal("what a failed command retained is not released")
	}
	b.run(p, 32, 32, out)
}

func checkFailedAlloc(b *bench) {
	for _, place := range []gpu.Place{gpu.Shared, gpu.Private} {
		b.faults.FailNextAlloc()
		_, err := b.dev.Alloc(100, place)
		require.ErrorIs(b, err, gpu.ErrOutOfMemory)
		buf, err := b.dev.Alloc(100, place)
		require.NoError(b, err)
		buf.Release()
	}
}

func checkFailedPipeline(b *bench) {
	b.faults.FailNextPipeline()
	b.compile("fill")
}

func checkDeviceLost(b *bench) {
	const n = 32
	p := b.compile("fill")
	// A buffer for each goroutine: what was in flight when the device was lost may still run once it is restored.
	var outs [5]gpu.Buffer
	for i := range outs {
		outs[i], _ = alloc[uint32](b, n)
	}
	b.faults.Lose()
	defer b.faults.Restore()
	commit := func(out gpu.Buffer) error {
		c := b.dev.Commands()
		c.Dispatch(p, 1, 32, args(value(n, 32), out))
		e, err := c.Commit()
		if err != nil {
			return err
		}
		return b.wait(e)
	}
	var all sync.WaitGroup
	for _, out := range outs[1:] {
		all.Go(func() {
			for range 100 {
				err := commit(out)
				if errors.Is(err, gpu.ErrDeviceLost) {
					return
				}
				if !errors.Is(err, gpu.ErrCommand) {
					b.Error(err)
				}
			}
			b.Error("the device is never lost")
		})
	}
	all.Wait()
	b.faults.Restore()
	require.ErrorIs(b, commit(outs[0]), gpu.ErrDeviceLost, "a lost device stays lost")
	_, err := b.dev.Compile(source("fill"))
	require.ErrorIs(b, err, gpu.ErrDeviceLost)
	_, err = b.dev.Alloc(16, gpu.Shared)
	require.ErrorIs(b, err, gpu.ErrDeviceLost)
	b.close()
	fresh := newBench(b.T, b.open)
	again, got := alloc[uint32](fresh, n)
	fresh.run(fresh.compile("fill"), n, 32, again)
	require.EqualValues(b, n, got[n-1])
}
