package memory

import (
	"runtime"
	"sync/atomic"
	"time"
)

// collectAt is the least held bytes for which an allocator asks for a garbage collection.
const collectAt = 256 << 20

// collector asks the Go runtime for garbage collections. The runtime paces itself by its own heap, where an 80 MB
// column is a few words; without this, columns that nobody released would pile up.
type collector struct {
	held    atomic.Int64 // bytes in blocks of buffers from NewBuffer
	least   int64
	next    atomic.Int64 // held bytes that start a collection, if more than least
	running atomic.Bool
}

// consider starts a collection if the held bytes have doubled since the last, and waits for one if they have doubled
// twice: the caller then allocates faster than collections in the background can follow.
func (c *collector) consider() {
	held, limit := c.held.Load(), max(c.next.Load(), c.least)
	if held > 2*limit {
		c.run()
	} else if held > limit && c.running.CompareAndSwap(false, true) {
		go func() {
			defer c.running.Store(false)
			c.run()
		}()
	}
}

// collect runs a collection and reports whether it can have freed anything.
func (c *collector) collect() bool {
	if c.held.Load() == 0 {
		return false
	}
	c.run()
	return true
}

// run collects, and waits a moment for the finalizers that the collection queued.
func (c *collector) run() {
	done := make(chan struct{})
	last := new(*int) // a pointer type keeps it out of the tiny allocator's shared blocks
	runtime.SetFinalizer(last, func(**int) { close(done) })
	runtime.GC()
	select {
	case <-done:
	case <-time.After(50 * time.Millisecond):
	}
	// That one has run does not mean that all have: they run in no order.
	for before, held := int64(0), c.held.Load(); held != before; {
		time.Sleep(200 * time.Microsecond)
		before, held = held, min(held, c.held.Load())
	}
	c.next.Store(2 * c.held.Load())
}
