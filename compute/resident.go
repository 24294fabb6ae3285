package compute

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// residents are what a device holds of columns: copies, by the Arrow buffer copied, which is retained while its copy
// exists, so that its identity cannot pass to another; and kept results that the host does not have. Dropping a copy never
// fails a call, and a kept result goes home before it is dropped.
type residents struct {
	mu       sync.Mutex
	all      map[*resident]struct{}
	byBuffer map[*arrowmem.Buffer]*resident
	count    atomic.Int32
	bytes    int64 // of copies, and of those being made
	peak     int64
	budget   int64
	clock    int64
	evicted  int64
	refused  int64
}

// resident is the copy of one buffer, or a kept result.
type resident struct {
	set   *residents
	owner *arrowmem.Buffer // of a copy
	at    place            // of a copy
	leave func() bool      // of a kept result: brings it home
	size  int64
	free  func()
	pins  int // handles
	uses  int // recordings under way
	last  int64
	gone  bool
}

// find is the copy of a buffer, to be given back with done.
func (s *residents) find(b *arrowmem.Buffer) *resident {
	if s.count.Load() == 0 || b == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byBuffer[b]
	if r != nil {
		s.clock++
		r.uses++
		r.last = s.clock
	}
	return r
}

// use keeps the memory until done.
func (r *resident) use() {
	r.set.mu.Lock()
	defer r.set.mu.Unlock()
	r.set.clock++
	r.uses++
	r.last = r.set.clock
}

// holds says whether there is a copy of a buffer.
func (s *residents) holds(b *arrowmem.Buffer) bool {
	if s.count.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byBuffer[b] != nil
}

func (r *resident) done() {
	r.set.mu.Lock()
	defer r.set.mu.Unlock()
	if r.uses--; r.uses == 0 && r.gone {
		r.end()
	}
}

// end frees a copy that was dropped and is not in use any more.
func (r *resident) end() {
	r.set.bytes -= r.size
	r.free()
}

// book makes room in the budget for a copy of size bytes, which put or unbook follows. There is none where the copy
// alone exceeds the budget, or what is there is in use.
func (s *residents) book(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size <= s.budget {
		s.shrink(s.budget - size)
	}
	if size > s.budget-s.bytes {
		s.refused++
		return false
	}
	s.bytes += size
	s.peak = max(s.peak, s.bytes)
	return true
}

// unbook undoes book.
func (s *residents) unbook(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= size
}

// put adds a copy of a buffer, booked before and pinned once. An existing copy is pinned once more, and the new one freed.
func (s *residents) put(owner *arrowmem.Buffer, at place, size int64, free func()) *resident {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.insert(owner, at, size, free)
}

func (s *residents) insert(owner *arrowmem.Buffer, at place, size int64, free func()) *resident {
	if r := s.byBuffer[owner]; r != nil {
		r.pins++
		s.bytes -= size
		free()
		return r
	}
	owner.Retain()
	if s.byBuffer == nil {
		s.byBuffer = map[*arrowmem.Buffer]*resident{}
	}
	r := s.add(&resident{owner: owner, at: at, size: size, free: free})
	s.byBuffer[owner] = r
	s.count.Add(1)
	return r
}

// add adds a resident with one pin.
func (s *residents) add(r *resident) *resident {
	if s.all == nil {
		s.all = map[*resident]struct{}{}
	}
	s.clock++
	r.set, r.pins, r.last = s, 1, s.clock
	s.all[r] = struct{}{}
	return r
}

// hold adds a kept result, booked before and pinned once.
func (s *residents) hold(size int64, free func(), leave func() bool) *resident {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(&resident{size: size, free: free, leave: leave})
}

// residentCopy is a buffer and the block of the device that holds the same.
type residentCopy struct {
	of    *arrowmem.Buffer
	block *privateBlock
}

// replace makes copies of buffers out of a kept result, in the same memory.
func (r *resident) replace(copies []residentCopy) []*resident {
	s := r.set
	s.mu.Lock()
	out := make([]*resident, len(copies))
	for i, c := range copies {
		size := int64(c.block.buf.Len())
		c.block.retain()
		r.size -= size
		out[i] = s.insert(c.of, place{buf: c.block.buf}, size, c.block.release)
	}
	s.mu.Unlock()
	r.unpin()
	return out
}

// pin pins an existing copy, nil if there is none.
func (s *residents) pin(b *arrowmem.Buffer) *resident {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byBuffer[b]
	if r != nil {
		r.pins++
	}
	return r
}

// unpin undoes one pin; a copy that no handle pins goes.
func (r *resident) unpin() {
	r.set.mu.Lock()
	defer r.set.mu.Unlock()
	if r.pins--; r.pins == 0 && !r.gone {
		r.set.drop(r)
	}
}

// evict makes room for size bytes, the least recently used first.
func (s *residents) evict(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shrink(max(0, s.bytes-size))
}

// shrink drops the least recently used until there are no more bytes than that, or all that is left is in use or cannot
// go home. While a kept result goes home the lock is free.
func (s *residents) shrink(to int64) {
	stays := map[*resident]bool{}
	for s.bytes > to {
		var oldest *resident
		for r := range s.all {
			if r.uses == 0 && !stays[r] && (oldest == nil || r.last < oldest.last) {
				oldest = r
			}
		}
		if oldest == nil {
			return
		}
		if oldest.leave != nil {
			s.mu.Unlock()
			left := oldest.leave()
			s.mu.Lock()
			if !left {
				stays[oldest] = true
				continue
			}
		}
		s.evicted++
		s.drop(oldest)
	}
}

func (s *residents) drop(r *resident) {
	delete(s.all, r)
	if r.owner != nil {
		delete(s.byBuffer, r.owner)
		s.count.Add(-1)
		r.owner.Release()
	}
	r.gone = true
	if r.uses == 0 {
		r.end()
	}
}

// SetDeviceBudget sets how many bytes of columns ToDevice and Batch.Keep may hold on the context's device; before there are
// more, the least recently used go: copies are dropped, and what the device alone has is brought to the host. What the
// budget has no room for stays on the host. The default is half of the device's memory. It has no meaning where device
// and host share one memory. The error is gpu.ErrNoDevice where there is no device.
func SetDeviceBudget(ctx context.Context, bytes int64) error {
	dev, err := deviceOf(ctx)
	if err != nil {
		return err
	}
	if bytes < 0 {
		return fmt.Errorf("%w: a budget of %d bytes", arrow.ErrInvalid, bytes)
	}
	s := &engineOf(dev).residents
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget = bytes
	s.shrink(bytes)
	return nil
}
