package gpu

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// WaitStrategy is how waiters wait for a device.
type WaitStrategy uint8

const (
	// WaitSpinThenBlock, the default, polls the completion word for SpinMicroseconds while LowLatencyWait is on, then sleeps
	// until one goroutine that blocks in the driver for all tells. The other strategies heed neither setting.
	WaitSpinThenBlock WaitStrategy = iota
	// WaitEventWord polls the completion word, which is in memory, until the work has ended. It costs a core.
	WaitEventWord
	// WaitStatus polls the driver's status of the work, a call each time.
	WaitStatus
	// WaitBlock blocks in the driver at once.
	WaitBlock
	// WaitCallback sleeps until the driver's completion handler tells. Work whose driver has none waits as by WaitBlock.
	WaitCallback
	strategyCount
)

var strategyNames = [strategyCount]string{"spin, then block", "event word", "status", "block", "callback"}

func (s WaitStrategy) String() string {
	if s < strategyCount {
		return strategyNames[s]
	}
	return "unknown"
}

var strategy atomic.Uint32

// SetWaitStrategy chooses how the waiters of all devices wait from now on. What is no strategy means the default.
func SetWaitStrategy(s WaitStrategy) {
	if s >= strategyCount {
		s = WaitSpinThenBlock
	}
	strategy.Store(uint32(s))
}

// WaitStrategyInForce says how waiters wait.
func WaitStrategyInForce() WaitStrategy { return WaitStrategy(strategy.Load()) }

// Notifier is work whose driver can tell of its end from a thread of its own.
type Notifier interface {
	// Notify makes the driver send to ended when the work has ended, well or badly, without blocking; false: it does not. A
	// driver may fail to tell of work that fails.
	Notify(ended chan<- struct{}) bool
}

const (
	// failuresEvery is how often those who wait for a success ask whether there was a failure, which never signals.
	failuresEvery = time.Millisecond
	// notifiedLate is how long a sleeper trusts a completion handler before it looks itself.
	notifiedLate = 5 * time.Millisecond
)

// waitPolling polls the completion word, or the status, until the work has ended.
func (f *Completion) waitPolling(ctx context.Context, status bool) error {
	c := f.all
	asked := time.Now()
	for {
		for range pollsPerClock {
			if status {
				c.check(f)
			} else {
				c.poll(f)
			}
			if f.told.Load() {
				return f.err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if now := time.Now(); now.Sub(asked) > failuresEvery {
			c.isOverdue()
			c.check(f)
			asked = now
		}
		runtime.Gosched()
	}
}

// waitNotified sleeps until the driver's completion handler tells; false: there is none.
func (f *Completion) waitNotified(ctx context.Context) (error, bool) {
	n, ok := f.work.(Notifier)
	if !ok {
		return nil, false
	}
	c := f.all
	ended := make(chan struct{}, 1)
	c.looking.Add(1)
	ok = !f.finished.Load() && n.Notify(ended)
	c.looking.Add(-1)
	if !ok {
		return nil, false
	}
	overdue, stop := c.overdueAfter()
	defer func() { stop() }()
	late := time.NewTicker(notifiedLate)
	defer late.Stop()
	for {
		select {
		case <-ended:
		case <-late.C:
		case <-overdue:
			c.isOverdue()
			overdue, stop = c.overdueAfter()
		case <-ctx.Done():
			return ctx.Err(), true
		}
		c.check(f)
		if f.told.Load() {
			return f.err, true
		}
	}
}
