package gputest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

var eventChecks = []check{
	{"Wait", checkWait},
	{"Done", checkDone},
	{"Context", checkContext},
	{"GPUTime", checkGPUTime},
	{"Retain", checkRetain},
	{"ManyInFlight", checkManyInFlight},
	{"Concurrency", checkConcurrency},
	{"Run", checkRun},
	{"OnEnd", checkOnEnd},
}

// slowSteps is how long a slow command works: tens of milliseconds on any device.
const slowSteps = 1 << 22

// slow commits a command that is in flight for a while.
func (b *bench) slow(steps int) (gpu.Event, gpu.Buffer) {
	out, _ := alloc[uint32](b, 32)
	c := b.dev.Commands()
	c.Dispatch(b.compile("slow"), 1, 32, args(value(steps, 32), out))
	return b.commit(c), out
}

// checkWait waits in each way.
func checkWait(b *bench) {
	on, spin := gpu.LowLatencyWait(), gpu.SpinMicroseconds()
	defer gpu.SetSpinMicroseconds(spin)
	defer gpu.SetLowLatencyWait(on)
	p := b.compile("fill")
	for _, way := range []struct {
		low  bool
		spin int
	}{{true, 300}, {true, 0}, {true, 1}, {false, 300}} {
		gpu.SetLowLatencyWait(way.low)
		gpu.SetSpinMicroseconds(way.spin)
		for range 3 {
			out, got := alloc[uint32](b, 1000)
			c := b.dev.Commands()
			c.Dispatch(p, 4, 256, args(value(1000, 256), out))
			e := b.commit(c)
			require.NoError(b, b.wait(e))
			require.True(b, e.Done())
			require.NoError(b, b.wait(e), "a second time")
			require.EqualValues(b, 1000, got[999])
		}
	}
}

func checkDone(b *bench) {
	e, _ := b.slow(slowSteps)
	require.False(b, e.Done())
	require.Eventually(b, e.Done, limit, time.Millisecond)
	require.NoError(b, b.wait(e))
}

func checkContext(b *bench) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	e, out := b.slow(slowSteps)
	require.ErrorIs(b, e.Wait(gone), context.Canceled)
	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	require.ErrorIs(b, e.Wait(short), context.DeadlineExceeded)
	require.NoError(b, b.wait(e), "the work goes on")
	require.NotEqual(b, uint32(0xA5A5A5A5), view[uint32](out.Host())[0])
	require.NoError(b, e.Wait(gone), "an end that is known is reported")
}

func checkGPUTime(b *bench) {
	long, _ := b.slow(slowSteps)
	require.NoError(b, b.wait(long))
	t := long.GPUTime()
	require.GreaterOrEqual(b, t, time.Duration(0))
	require.Less(b, t, limit)
	require.Equal(b, t, long.GPUTime())
	short, _ := b.slow(1)
	require.NoError(b, b.wait(short))
	if t > 0 {
		require.Less(b, short.GPUTime(), t)
	}
}

// checkRetain sees owners live until the work has ended, also when nobody waits for it.
func checkRetain(b *bench) {
	out, _ := alloc[uint32](b, 64)
	p := b.compile("slow")
	var released atomic.Int32
	c := b.dev.Commands()
	for range 3 {
		c.Retain(new(int), func() { released.Add(1) })
	}
	c.Dispatch(p, 1, 32, args(value(slowSteps, 32), out))
	b.commit(c)
	require.Zero(b, released.Load())
	require.Eventually(b, func() bool { return released.Load() == 3 }, limit, time.Millisecond)
}

// checkManyInFlight commits many before it waits, and waits in another order.
func checkManyInFlight(b *bench) {
	const n, commits = 300, 40
	p := b.compile("fill")
	var events []gpu.Event
	var outs [][]uint32
	for range commits {
		out, got := alloc[uint32](b, n)
		c := b.dev.Commands()
		c.Dispatch(p, 2, 256, args(value(n, 256), out))
		events, outs = append(events, b.commit(c)), append(outs, got)
	}
	for i := range commits {
		k := (i*7 + 3) % commits
		require.NoError(b, b.wait(events[k]))
		require.EqualValues(b, n, outs[k][n-1])
	}
}

// checkConcurrency uses the device from many goroutines at once.
func checkConcurrency(b *bench) {
	const goroutines, commits, n = 8, 50, 64
	p := b.compile("add")
	var all sync.WaitGroup
	for g := range goroutines {
		x, _ := input(b, n, func(i int) uint32 { return uint32(i) })
		y, _ := input(b, n, func(int) uint32 { return uint32(g) })
		out, got := alloc[uint32](b, n)
		all.Go(func() {
			for k := range commits {
				clear(got)
				c := b.dev.Commands()
				c.Dispatch(p, 2, 32, args(value(n, 32), x, y, out))
				e, err := c.Commit()
				if err == nil {
					err = b.wait(e)
				}
				if err != nil {
					b.Errorf("goroutine %d, commit %d: %v", g, k, err)
					return
				}
				for i, v := range got {
					if v != uint32(i+g) {
						b.Errorf("goroutine %d, commit %d: element %d is %d", g, k, i, v)
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// checkRun uses commands over and over on many goroutines, while others wait for events and look at all that is in flight.
func checkRun(b *bench) {
	if _, ok := b.dev.Commands().(gpu.Runner); !ok {
		return
	}
	const goroutines, runs, n = 4, 200, 64
	p := b.compile("add")
	var all sync.WaitGroup
	for g := range goroutines {
		x, from := input(b, n, func(int) uint32 { return 0 })
		y, _ := input(b, n, func(int) uint32 { return uint32(g) })
		out, got := alloc[uint32](b, n)
		all.Go(func() {
			var released atomic.Int32
			c := b.dev.Commands()
			for k := range runs {
				from[5] = uint32(k)
				got[5] = 0
				c.Dispatch(p, 2, 32, args(value(n, 32), x, y, out))
				if g == 0 { // this one leaves its event to others
					e, err := c.Commit()
					if err == nil {
						err = b.wait(e)
					}
					if err != nil {
						b.Errorf("commit %d: %v", k, err)
						return
					}
					c = b.dev.Commands()
				} else {
					c.Retain(nil, func() { released.Add(1) })
					if err := c.(gpu.Runner).Run(context.Background()); err != nil {
						b.Errorf("goroutine %d, run %d: %v", g, k, err)
						return
					}
					if released.Load() != int32(k+1) {
						b.Errorf("goroutine %d, run %d: %d releases", g, k, released.Load())
					}
				}
				if got[5] != uint32(k+g) {
					b.Errorf("goroutine %d, run %d: got %d", g, k, got[5])
					return
				}
			}
			c.Discard()
		})
	}
	all.Wait()

	// After an error commands are spent, and the work goes on.
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	out, _ := alloc[uint32](b, 32)
	c := b.dev.Commands()
	var ended atomic.Bool
	c.Retain(nil, func() { ended.Store(true) })
	c.Dispatch(b.compile("slow"), 1, 32, args(value(slowSteps, 32), out))
	require.ErrorIs(b, c.(gpu.Runner).Run(gone), context.Canceled)
	require.False(b, ended.Load())
	require.Error(b, c.(gpu.Runner).Run(context.Background()))
	require.Eventually(b, ended.Load, limit, time.Millisecond)
	c = b.dev.Commands()
	require.NoError(b, c.(gpu.Runner).Run(context.Background()), "nothing to do")
	c.Dispatch(p, 1, 0, nil)
	require.Error(b, c.(gpu.Runner).Run(context.Background()), "a bad recording")
}

// checkOnEnd is told of ends that nobody waits for.
func checkOnEnd(b *bench) {
	ended := make(chan int, 3)
	for i, steps := range []int{slowSteps, 1, 1} {
		e, _ := b.slow(steps)
		e.OnEnd(func() {
			if !e.Done() || b.wait(e) != nil {
				b.Errorf("work %d has not ended well", i)
			}
			ended <- i
		})
	}
	for range 3 {
		select {
		case <-ended:
		case <-time.After(limit):
			b.Fatal("nobody tells of an end")
		}
	}
}
