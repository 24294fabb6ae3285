package gpu

import (
	"runtime"
	"sync"
	"time"
)

// yieldEvery is how long sliced work keeps its processor from other goroutines at most. Where none is ready, giving way
// takes some 150 nanoseconds.
const yieldEvery = 200 * time.Microsecond

// slicing counts the sliced work that runs. While there is some, nobody blocks in a driver: the slices look at the
// completion words, and a blocked call would hold a processor that they could use.
var slicing struct {
	sync.Mutex
	running int
	over    chan struct{} // closed when none runs any more; made by who waits for that
}

// Slices is CPU work that is cut into slices of some 50 microseconds, with a progress point after each, so that neither
// the completions of a GPU nor other goroutines wait for its end. One goroutine uses it.
type Slices struct{ yielded time.Time }

// BeginSlices begins sliced work; End must follow.
func BeginSlices() Slices {
	slicing.Lock()
	slicing.running++
	slicing.Unlock()
	return Slices{yielded: time.Now()}
}

// Next is the progress point between two slices. It delivers the completions of work in flight that it sees, and then
// lets their waiters run; other goroutines get their turn five times a millisecond.
func (s *Slices) Next() {
	now := time.Now()
	if Progress() || now.Sub(s.yielded) >= yieldEvery {
		runtime.Gosched()
		s.yielded = now
	}
}

// End ends the work.
func (s *Slices) End() {
	slicing.Lock()
	defer slicing.Unlock()
	slicing.running--
	if slicing.running == 0 && slicing.over != nil {
		close(slicing.over)
		slicing.over = nil
	}
}

// sliced returns a channel that is closed when no sliced work runs any more; nil if none does now.
func sliced() <-chan struct{} {
	slicing.Lock()
	defer slicing.Unlock()
	if slicing.running > 0 && slicing.over == nil {
		slicing.over = make(chan struct{})
	}
	return slicing.over
}
