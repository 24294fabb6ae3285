package gpu

import (
	"fmt"
	"runtime"
	"time"
)

// overdue is what Completions know of a device that has stopped answering. The work that it did not end in time may
// still run, and write, for ever; so what it uses stays, and calls that would wait for it in the driver are put off.
type overdue struct {
	lose  func(error) // tells the driver, once
	err   error       // set when the device did not answer in time
	since time.Time   // when the oldest commit in flight became the oldest
	later []func()    // put off until nothing is in flight
}

// OnOverdue sets what is called, once, when the device has not ended its oldest commit in CommandTimeout. Drivers set it
// before the first commit; it makes the device lost.
func (c *Completions) OnOverdue(lose func(error)) { c.late.lose = lose }

// left is how long the device may still take for its oldest commit; false means for ever.
func (c *Completions) left() (time.Duration, bool) {
	limit := CommandTimeout()
	if limit == 0 {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.flying) == 0 {
		return limit, true
	}
	return limit - time.Since(c.late.since), true
}

// isOverdue loses the device if it has not ended its oldest commit in time.
func (c *Completions) isOverdue() bool {
	left, limited := c.left()
	if !limited || left > 0 {
		return false
	}
	c.mu.Lock()
	first := c.late.err == nil
	if first {
		c.late.err = fmt.Errorf("%w: no answer in %v; %d commits are in flight", ErrTimeout, CommandTimeout(), len(c.flying))
	}
	err := c.late.err
	c.mu.Unlock()
	if first && c.late.lose != nil {
		c.late.lose(err)
	}
	c.Fail(err)
	return true
}

// overdueAfter returns a channel that fires when the oldest commit should have ended (never, if there is no limit), and
// what stops its timer.
func (c *Completions) overdueAfter() (<-chan time.Time, func() bool) {
	left, limited := c.left()
	if !limited {
		return nil, func() bool { return false }
	}
	t := time.NewTimer(left)
	return t.C, t.Stop
}

// Overdue says whether the device has stopped answering and has not ended its work since.
func (c *Completions) Overdue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.late.err != nil && !c.idle()
}

// Afterwards runs f at once, unless the device has stopped answering: then when its last work has ended, if that ever
// does. It is for what waits for the device in the driver, as freeing memory does.
func (c *Completions) Afterwards(f func()) {
	c.mu.Lock()
	if c.late.err == nil || c.idle() {
		c.mu.Unlock()
		f()
		return
	}
	c.late.later = append(c.late.later, f)
	c.mu.Unlock()
}

// runLater runs what was put off. Nothing is in flight any more.
func (c *Completions) runLater(later []func()) {
	for len(later) > 0 && c.looking.Load() != 0 {
		runtime.Gosched()
	}
	for _, f := range later {
		f()
	}
}
