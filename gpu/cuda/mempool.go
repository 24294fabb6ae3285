//go:build linux && (amd64 || arm64)

package cuda

import (
	"math/bits"
	"sync"
)

const (
	// poolShare is the part of the device's memory that may lie idle in the pool.
	poolShare = 8
	// poolFine is up to where sizes are powers of two; above they are multiples of poolStep, what the driver maps at once.
	poolFine    = 2 << 20
	poolStep    = 2 << 20
	poolSmaller = 512
)

// memoryPool keeps device memory that was released for the next allocation of its size: the driver waits for the whole
// device when it frees, and takes a tenth of a millisecond for both.
type memoryPool struct {
	mu     sync.Mutex
	limit  int
	bytes  int               // idle
	idle   map[int][]uintptr // by size
	closed bool
}

// poolSize rounds an allocation up to a size that others are likely to have too.
func poolSize(n int) int {
	switch {
	case n <= poolSmaller:
		return poolSmaller
	case n <= poolFine:
		return 1 << bits.Len(uint(n-1))
	}
	return (n + poolStep - 1) / poolStep * poolStep
}

// idling returns idle memory of a size, or a little more where sizes are many, and its size; 0 if there is none.
func (p *memoryPool) idling(size int) (at uintptr, got int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[size]) > 0 {
		got = size
	} else if size > poolFine {
		for larger, list := range p.idle {
			if len(list) > 0 && larger > size && larger <= size+size/4 && (got == 0 || larger < got) {
				got = larger
			}
		}
	}
	if got == 0 {
		return 0, 0
	}
	list := p.idle[got]
	at, p.idle[got] = list[len(list)-1], list[:len(list)-1]
	if len(list) == 1 {
		delete(p.idle, got)
	}
	p.bytes -= got
	return at, got
}

// take returns size bytes of fresh device memory. When the device has none left, the idle memory is given back first.
func (p *memoryPool) take(s *session, size int) (uintptr, status) {
	st := s.call(cuMemAlloc, s.result(0), uintptr(size))
	if st == errorOutOfMemory && p.empty(s) {
		st = s.call(cuMemAlloc, s.result(0), uintptr(size))
	}
	return s.out[0], st
}

// keep takes memory that no work uses any more, unless enough lies idle.
func (p *memoryPool) keep(at uintptr, size int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.bytes+size > p.limit {
		return false
	}
	if p.idle == nil {
		p.idle = make(map[int][]uintptr)
	}
	p.idle[size] = append(p.idle[size], at)
	p.bytes += size
	return true
}

// empty gives all idle memory to the driver; it says whether there was some.
func (p *memoryPool) empty(s *session) bool {
	p.mu.Lock()
	idle := p.idle
	had := p.bytes > 0
	p.idle, p.bytes = nil, 0
	p.mu.Unlock()
	for _, list := range idle {
		for _, at := range list {
			s.call(cuMemFree, at)
		}
	}
	return had
}

// close empties the pool for good.
func (p *memoryPool) close(s *session) {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.empty(s)
}
