package gputest

import (
	"errors"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

var lifeChecks = []check{
	{"UseAfterClose", checkUseAfterClose},
	{"CloseWaits", checkCloseWaits},
	{"CloseUnderLoad", checkCloseUnderLoad},
	{"TwoDevices", checkTwoDevices},
}

func (b *bench) close() {
	b.Helper()
	b.closed = true
	require.NoError(b, b.dev.Close())
}

func checkUseAfterClose(b *bench) {
	p := b.compile("fill")
	out, got := alloc[uint32](b, 8)
	before := b.dev.Commands()
	before.Dispatch(p, 1, 32, args(value(8, 32), out))
	b.close()

	_, err := b.dev.Alloc(16, gpu.Shared)
	require.ErrorIs(b, err, gpu.ErrClosed)
	_, err = b.dev.Alloc(0, gpu.Shared)
	require.ErrorIs(b, err, gpu.ErrClosed)
	_, err = b.dev.Wrap(out.Host())
	require.ErrorIs(b, err, gpu.ErrClosed)
	_, err = b.dev.Compile(source("fill"))
	require.ErrorIs(b, err, gpu.ErrClosed)
	_, err = before.Commit()
	require.ErrorIs(b, err, gpu.ErrClosed)
	after := b.dev.Commands()
	released := 0
	after.Retain(out, func() { released++ })
	after.Dispatch(p, 1, 32, args(value(8, 32), out))
	_, err = after.Commit()
	require.ErrorIs(b, err, gpu.ErrClosed)
	require.Equal(b, 1, released)
	require.ErrorIs(b, b.dev.Close(), gpu.ErrClosed)
	require.NotEmpty(b, b.dev.Info().Name)
	require.EqualValues(b, 0xA5A5A5A5, got[0], "the memory is the owner's until it is released")
}

// checkCloseWaits closes while work is in flight.
func checkCloseWaits(b *bench) {
	e, out := b.slow(slowSteps)
	b.close()
	require.True(b, e.Done())
	require.NoError(b, b.wait(e))
	require.NotEqual(b, uint32(0xA5A5A5A5), view[uint32](out.Host())[0])
	e.GPUTime() // may be gone; must not fail
}

// checkCloseUnderLoad closes while others commit: each commit either runs or is refused.
func checkCloseUnderLoad(b *bench) {
	const n = 64
	p := b.compile("fill")
	var all sync.WaitGroup
	var started sync.WaitGroup
	for range 4 {
		out, got := alloc[uint32](b, n)
		started.Add(1)
		all.Go(func() {
			for k := 0; ; k++ {
				clear(got)
				c := b.dev.Commands()
				c.Dispatch(p, 2, 32, args(value(n, 32), out))
				e, err := c.Commit()
				if k == 0 {
					started.Done()
				}
				if errors.Is(err, gpu.ErrClosed) {
					return
				}
				if err == nil {
					err = b.wait(e)
				}
				if err != nil || got[n-1] != n {
					b.Errorf("commit %d: %v, last element %d", k, err, got[n-1])
					return
				}
			}
		})
	}
	started.Wait()
	b.close()
	all.Wait()
}

// checkTwoDevices uses two devices at once and sees that they refuse each other's objects.
func checkTwoDevices(b *bench) {
	other := newBench(b.T, b.open)
	require.False(b, b.dev == other.dev)
	const n = 100
	p, q := b.compile("fill"), other.compile("fill")
	mine, got := alloc[uint32](b, n)
	theirs, gotToo := alloc[uint32](other, n)
	for _, bad := range [][2]any{{p, theirs}, {q, mine}} {
		c := b.dev.Commands()
		c.Dispatch(bad[0].(gpu.Pipeline), 1, 128, args(value(n, 128), bad[1].(gpu.Buffer)))
		_, err := c.Commit()
		require.Error(b, err)
	}
	c, d := b.dev.Commands(), other.dev.Commands()
	c.Dispatch(p, 1, 128, args(value(n, 128), mine))
	d.Dispatch(q, 1, 128, args(value(n, 128), theirs))
	e, f := b.commit(c), other.commit(d)
	require.NoError(b, b.wait(f))
	require.NoError(b, b.wait(e))
	other.close()
	b.run(p, n, 128, mine)
	require.EqualValues(b, n, got[n-1])
	require.EqualValues(b, n, gotToo[n-1])
}
