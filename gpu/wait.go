package gpu

import (
	"context"
	"runtime"
	"time"
)

const (
	// pollsPerClock is how often a waiter looks at the completion word before it looks at the clock, which costs as much.
	pollsPerClock = 64
	// busyYield is a yield that took so long that other goroutines must have run.
	busyYield = 5 * time.Microsecond
	// The blocking goroutine's naps where it must not block: a share of the time it has waited, within bounds.
	napShare    = 16
	shortestNap = 20 * time.Microsecond
	longestNap  = time.Millisecond
)

// Done says whether the work has ended, well or badly, without blocking.
func (f *Completion) Done() bool {
	if f.told.Load() {
		return true
	}
	f.all.check(f)
	return f.told.Load()
}

// Wait returns nil when the work succeeded. By the default strategy it polls for a bounded time, then sleeps until the
// blocking goroutine tells it (WaitStrategy has others). Errors: the work's own, ErrTimeout when the device has not ended
// its oldest commit in CommandTimeout, or ctx.Err(). Neither of the last two ends the work.
func (f *Completion) Wait(ctx context.Context) error {
	if f.told.Load() {
		return f.err
	}
	c := f.all
	if c.poll(f) && f.told.Load() {
		return f.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var spinUntil time.Time // zero: no (more) polling
	switch s := WaitStrategyInForce(); s {
	case WaitEventWord, WaitStatus:
		return f.waitPolling(ctx, s == WaitStatus)
	case WaitCallback:
		if err, ok := f.waitNotified(ctx); ok {
			return err
		}
	case WaitSpinThenBlock:
		if budget := spinBudget(); budget > 0 {
			spinUntil = time.Now().Add(budget)
		}
	}
	var timeout <-chan time.Time
	for {
		c.mu.Lock()
		if f.told.Load() {
			c.mu.Unlock()
			return f.err
		}
		if !spinUntil.IsZero() && !c.spinning {
			c.spinning = true
			c.mu.Unlock()
			c.spin(ctx, f, spinUntil)
			spinUntil = time.Time{}
			continue
		}
		if f.ended == nil {
			f.ended = make(chan struct{})
		}
		var baton chan struct{}
		if spinUntil.IsZero() {
			c.park()
		} else {
			c.parked++
			baton = c.baton
		}
		c.mu.Unlock()
		if timeout == nil {
			fires, stop := c.overdueAfter()
			defer stop()
			timeout = fires
		}
		select {
		case <-f.ended:
			c.unpark()
			return f.err
		case <-baton:
			if !c.takeOver() {
				continue
			}
			c.spin(ctx, f, spinUntil)
			spinUntil = time.Time{}
		case <-ctx.Done():
			c.unpark()
			return ctx.Err()
		case <-timeout:
			c.unpark()
			c.isOverdue()
			timeout = nil // others may have ended meanwhile, which gives this one more time
		}
	}
}

// takeOver makes a waiter that slept the one that polls, unless another came first.
func (c *Completions) takeOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parked--
	if c.spinning {
		return false
	}
	c.spinning = true
	return true
}

// spin polls until f has ended, it is late, ctx is done, or, where there is one processor only, others need it. It polls
// the other commits in flight too, so that one polling waiter serves the device. At the end it hands its role to a
// waiter that sleeps.
func (c *Completions) spin(ctx context.Context, f *Completion, until time.Time) {
	defer c.stopSpinning()
	single := runtime.GOMAXPROCS(0) == 1
	var oldest [few]*Completion
	for {
		now := time.Now()
		if f.told.Load() || !now.Before(until) || ctx.Err() != nil {
			return
		}
		runtime.Gosched()
		if single && time.Since(now) > busyYield {
			return
		}
		for range pollsPerClock {
			if c.poll(f) || f.told.Load() {
				return
			}
		}
		for _, other := range c.first(&oldest) {
			c.poll(other)
		}
	}
}

// stopSpinning ends a waiter's polling. If others sleep, one of them takes over.
func (c *Completions) stopSpinning() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spinning = false
	if c.parked > 0 {
		select {
		case c.baton <- struct{}{}:
		default:
		}
	}
}

// park counts a waiter that sleeps and makes sure that somebody blocks in the driver for it. The caller holds mu.
func (c *Completions) park() {
	c.parked++
	if !c.joining && len(c.flying) > 0 {
		c.joining = true
		go c.join()
	}
}

func (c *Completions) unpark() {
	c.mu.Lock()
	c.parked--
	c.mu.Unlock()
}

// join blocks in the driver for the oldest commit in flight, one after the other, while somebody sleeps. It keeps its
// thread, and with it what drivers keep for each thread.
func (c *Completions) join() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		c.mu.Lock()
		if len(c.flying) == 0 || c.parked == 0 {
			c.joining = false
			c.mu.Unlock()
			return
		}
		f := c.flying[0]
		f.joined = true
		c.mu.Unlock()
		c.finish(f, f.use.Load(), c.joinWork(f))
	}
}

// joinWork returns when f's work has ended. A call that blocks in the driver keeps its processor from every other
// goroutine until the runtime notices. So where there is one processor, or while sliced work could use it, the
// goroutine sleeps between looks instead: for long while slices run, which see successes sooner, since each look takes
// the processor twice from one thread to another.
func (c *Completions) joinWork(f *Completion) error {
	for began := time.Now(); !f.finished.Load(); {
		over := sliced()
		if over == nil && runtime.GOMAXPROCS(0) > 1 {
			return f.work.Join()
		}
		if ended, err := c.hasEnded(f); ended {
			return err
		}
		nap := longestNap
		if over == nil {
			nap = min(max(time.Since(began)/napShare, shortestNap), longestNap)
		}
		select {
		case <-over:
		case <-time.After(nap):
		}
	}
	return nil
}
