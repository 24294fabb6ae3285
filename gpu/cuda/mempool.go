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

// take returns size bytes of device memory. When the device has none left, the idle memory is given back first.
func (p *memoryPool) take(s *session, size int) (uintptr, status) {
	p.mu.Lock()
	if list := p.idle[size]; len(list) > 0 {
		at := list[len(list)-1]
		p.idle[size] = list[:len(list)-1]
		p.bytes -= size
		p.mu.Unlock()
		return at, success
	}
	p.mu.Unlock()
	st := s.call(cuMemAlloc, s.result(0), uintptr(size))
	if st == errorOutOfMemory && p.empty(s) {
		st = s.call(cuMemAlloc, s.result(0), uintptr(size))
	}
	return s.out[0], st
}

// put gives memory back that no work uses any more.
func (p *memoryPool) put(s *session, at uintptr, size int) {
	p.mu.Lock()
	keep := !p.closed && p.bytes+size <= p.limit
	if keep {
		if p.idle == nil {
			p.idle = make(map[int][]uintptr)
		}
		p.idle[size] = append(p.idle[size], at)
		p.bytes += size
	}
	p.mu.Unlock()
	if !keep {
		s.call(cuMemFree, at)
	}
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
