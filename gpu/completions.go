package gpu

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Work is one commit in flight as its driver sees it. Drivers implement it; Completions calls it, from any goroutine. A
// call that began before Finish may still run beside and after it: then any answer does, but it must not touch what was
// given back.
type Work interface {
	// Signaled reads the completion word without blocking. It is true only if this very work has succeeded: failed work
	// never signals.
	Signaled() bool
	// Ended asks the driver, without blocking, whether the work has ended, well or badly.
	Ended() (bool, error)
	// Join blocks in the driver until the work has ended and returns its error.
	Join() error
	// Finish gives back everything the work kept alive. It is called once, after the work has ended.
	Finish()
}

// Completions delivers the ends of one device's commits to those who wait for them. A driver has one per device.
//
// Four parties look for ends, and whoever sees one first delivers it. A waiter polls for a bounded time (wait.go); one
// waiter polls for all. When that was not enough, one goroutine per device blocks in the driver for as long as somebody
// is parked, unless the CPU does sliced work: then the slices look at the words (slices.go). And a timer, armed while
// work is in flight, looks now and then, so that work nobody waits for gives its memory back too.
type Completions struct {
	mu        sync.Mutex
	flying    []*Completion // in the order of their commits
	finishing int           // seen to have ended, and not yet told
	spinning  bool          // a waiter polls for all
	parked    int           // waiters that sleep until they are told
	joining   bool          // the blocking goroutine runs
	sweeping  bool          // the timer is armed
	sweeper   *time.Timer   // made when first needed
	swept     []*Completion // what the timer's function looks at
	drained   chan struct{} // closed when nothing is in flight; made by Drain
	failure   error         // of the device: work that comes too late for Fail has it too
	late      overdue

	failed  chan struct{} // closed by Fail
	baton   chan struct{} // from a waiter that stops polling to one that sleeps
	looking atomic.Int32  // looks at the device that are under way
}

// Completion is the Event of one commit, less GPUTime. Drivers embed it in their event.
type Completion struct {
	all      *Completions
	work     Work
	told     atomic.Bool
	use      atomic.Uint32 // rises when the Completion is started again
	joined   bool          // the blocking goroutine has it
	err      error         // valid once told
	ended    chan struct{} // closed when told; made by a waiter that sleeps
	onEnd    func()        // started when told
	finished atomic.Bool   // somebody has seen the end: the work is looked at no more
}

// sweepEvery is how often work in flight is looked at when nobody waits for it.
const sweepEvery = 20 * time.Millisecond

// inFlight counts the commits in flight on all devices, so that Progress costs one load when there are none.
var inFlight atomic.Int64

// NewCompletions returns the completions of a device with nothing in flight. Close ends its life.
func NewCompletions() *Completions {
	c := &Completions{failed: make(chan struct{}), baton: make(chan struct{}, 1)}
	watched.Lock()
	defer watched.Unlock()
	list := append(slices.Clone(watchedNow()), c)
	watched.list.Store(&list)
	return c
}

// Start begins to watch work that was handed to the device. f is the Completion embedded in the driver's event.
func (c *Completions) Start(f *Completion, w Work) {
	c.mu.Lock()
	if f.work == nil {
		f.all, f.work = c, w
	} else { // Reusable said so
		f.use.Add(1)
		f.err, f.ended = nil, nil
		f.told.Store(false)
		f.finished.Store(false)
	}
	if len(c.flying) == 0 {
		c.late.since = time.Now()
	}
	c.flying = append(c.flying, f)
	if c.failure != nil {
		c.tell(f, c.failure)
	}
	if !c.sweeping {
		c.sweeping = true
		c.armSweep()
	}
	c.mu.Unlock()
	inFlight.Add(1)
}

// Reusable says that work which has succeeded, and for which nobody waits any more, leaves f to be started again: nobody
// looks at it now, and who comes later sees that it is finished.
func (c *Completions) Reusable(f *Completion) bool {
	c.mu.Lock()
	joined := f.joined
	c.mu.Unlock()
	return !joined && f.finished.Load() && f.err == nil && c.looking.Load() == 0
}

// StartEnded makes f the completion of a commit that had nothing to do.
func (c *Completions) StartEnded(f *Completion) {
	f.all = c
	f.finished.Store(true)
	f.told.Store(true)
}

// signaled looks at one commit's completion word. The count of looks lets Close wait for them, and changing it after
// the word was read makes what the device wrote before it signalled visible to the loads that follow: on arm64 a
// read-modify-write does that, a plain load does not.
func (c *Completions) signaled(f *Completion) bool {
	c.looking.Add(1)
	yes := !f.finished.Load() && f.work.Signaled()
	c.looking.Add(-1)
	return yes
}

// hasEnded looks at one commit's outcome, as signaled does.
func (c *Completions) hasEnded(f *Completion) (bool, error) {
	c.looking.Add(1)
	defer c.looking.Add(-1)
	if f.finished.Load() {
		return false, nil
	}
	return f.work.Ended()
}

// poll delivers one commit's success if its completion word tells of it.
func (c *Completions) poll(f *Completion) bool {
	use := f.use.Load()
	if !c.signaled(f) {
		return false
	}
	c.finish(f, use, nil)
	return true
}

// check delivers one commit's end if it has ended.
func (c *Completions) check(f *Completion) {
	use := f.use.Load()
	if ended, err := c.hasEnded(f); ended {
		c.finish(f, use, err)
	}
}

// finish delivers the end that was seen of a use of f. What the work kept alive is given back before anybody is told, so a caller that
// returns from Wait finds it released.
func (c *Completions) finish(f *Completion, use uint32, err error) {
	c.mu.Lock()
	if f.use.Load() != use || f.finished.Swap(true) {
		c.mu.Unlock()
		return
	}
	c.finishing++
	if i := slices.Index(c.flying, f); i >= 0 {
		c.flying = slices.Delete(c.flying, i, i+1)
		if i == 0 && len(c.flying) > 0 {
			c.late.since = time.Now()
		}
	}
	c.mu.Unlock()
	inFlight.Add(-1)

	f.work.Finish()

	c.mu.Lock()
	c.tell(f, err)
	c.finishing--
	var later []func()
	if c.idle() {
		if c.drained != nil {
			close(c.drained)
			c.drained = nil
		}
		later, c.late.later = c.late.later, nil
	}
	c.mu.Unlock()
	c.runLater(later)
}

// idle says that nothing is in flight or about to be given back. The caller holds mu.
func (c *Completions) idle() bool { return len(c.flying) == 0 && c.finishing == 0 }

// tell releases the waiters of f. The caller holds mu.
func (c *Completions) tell(f *Completion, err error) {
	if f.told.Load() {
		return
	}
	f.err = err
	f.told.Store(true)
	if f.ended != nil {
		close(f.ended)
	}
	if f.onEnd != nil {
		go f.onEnd()
		f.onEnd = nil
		c.parked--
	}
}

// OnEnd has call called in a goroutine of its own when the work has ended or counts as failed. Until then it counts as one
// that sleeps, for which one goroutine of the device blocks in the driver.
func (f *Completion) OnEnd(call func()) {
	c := f.all
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.told.Load() {
		go call()
		return
	}
	f.onEnd = call
	c.park()
}

// Fail tells everybody who waits for work in flight, and for work started from now on, that it failed with err. The work
// itself is not forgotten: what it keeps alive stays until the driver says that it has ended.
func (c *Completions) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = err
		close(c.failed)
	}
	for _, f := range c.flying {
		c.tell(f, err)
	}
}

// Failed is closed when Fail was called.
func (c *Completions) Failed() <-chan struct{} { return c.failed }

// Close waits until nothing is in flight and forgets the device: after it returned nil no work is looked at again. It
// gives up with ErrTimeout when the device has not ended its oldest commit in CommandTimeout. The driver makes sure that
// nothing is started any more.
func (c *Completions) Close() error {
	unwatch(c)
	if err := c.drain(); err != nil {
		return err
	}
	for c.looking.Load() != 0 {
		runtime.Gosched()
	}
	return nil
}

// drain waits until nothing is in flight.
func (c *Completions) drain() error {
	c.mu.Lock()
	if c.idle() {
		c.mu.Unlock()
		return nil
	}
	if c.drained == nil {
		c.drained = make(chan struct{})
	}
	drained, left := c.drained, len(c.flying)
	c.park()
	c.mu.Unlock()
	defer c.unpark()

	for {
		timeout, stop := c.overdueAfter()
		select {
		case <-drained:
			stop()
			return nil
		case <-timeout:
			if c.isOverdue() {
				return fmt.Errorf("%w: %d commits did not end in %v", ErrTimeout, left, CommandTimeout())
			}
		}
	}
}

// few is how many commits one look polls: those committed first end first.
const few = 8

// first copies the oldest commits in flight.
func (c *Completions) first(into *[few]*Completion) []*Completion {
	c.mu.Lock()
	defer c.mu.Unlock()
	return into[:copy(into[:], c.flying)]
}

// armSweep has sweep called later. The caller holds mu.
func (c *Completions) armSweep() {
	if c.sweeper == nil {
		c.sweeper = time.AfterFunc(sweepEvery, c.sweep)
	} else {
		c.sweeper.Reset(sweepEvery)
	}
}

// sweep looks at everything in flight and comes back while there is something.
func (c *Completions) sweep() {
	c.isOverdue() // before the driver is asked, which may hang as well
	c.mu.Lock()
	c.swept = append(c.swept[:0], c.flying...)
	c.mu.Unlock()
	for _, f := range c.swept {
		c.check(f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.swept)
	c.sweeping = len(c.flying) > 0
	if c.sweeping {
		c.armSweep()
	}
}

var watched struct {
	sync.Mutex
	list atomic.Pointer[[]*Completions]
}

// watchedNow lists the completions of all open devices.
func watchedNow() []*Completions {
	if list := watched.list.Load(); list != nil {
		return *list
	}
	return nil
}

func unwatch(c *Completions) {
	watched.Lock()
	defer watched.Unlock()
	list := slices.DeleteFunc(slices.Clone(watchedNow()), func(x *Completions) bool { return x == c })
	watched.list.Store(&list)
}

// Progress looks at the completion words of all work in flight and delivers the ends it sees, without blocking; it says
// whether it saw any. [Slices] calls it between slices of CPU work, so that a result of a GPU does not wait for a free
// processor. With nothing in flight it costs one load.
func Progress() (delivered bool) {
	if inFlight.Load() == 0 {
		return false
	}
	var oldest [few]*Completion
	for _, c := range watchedNow() {
		for _, f := range c.first(&oldest) {
			if c.poll(f) {
				delivered = true
			}
		}
	}
	return delivered
}
