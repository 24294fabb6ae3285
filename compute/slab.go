package compute

import (
	"container/heap"
	"sync"
	"sync/atomic"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/memory"
)

// lowest is a heap of idle things, the one that was made first on top: work that comes again gets the same memory again,
// so that a driver that remembers its commands finds them unchanged.
type lowest[T interface{ number() int }] []T

func (h lowest[T]) Len() int           { return len(h) }
func (h lowest[T]) Less(i, k int) bool { return h[i].number() < h[k].number() }
func (h lowest[T]) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *lowest[T]) Push(x any)        { *h = append(*h, x.(T)) }
func (h *lowest[T]) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	var none T
	(*h)[last] = none
	*h = (*h)[:last]
	return x
}

// slabBytes is the size of a slab, and idleSlabs how many are kept.
const (
	slabBytes = 16 * smallBytes
	idleSlabs = 64
)

// slab is a little memory that host and device see, for results of a few words and for constants.
type slab struct {
	pool *slabPool
	buf  *arrowmem.Buffer
	at   place
	seq  int
	refs atomic.Int32
}

func (s *slab) number() int { return s.seq }

func (s *slab) bytes() []byte { return s.buf.Bytes()[:slabBytes] }

func (s *slab) release() {
	if s.refs.Add(-1) == 0 {
		s.pool.put(s)
	}
}

// slabPool keeps slabs for the next recorder.
type slabPool struct {
	mu   sync.Mutex
	idle lowest[*slab]
	made int
}

func (p *slabPool) put(s *slab) {
	p.mu.Lock()
	keep := len(p.idle) < idleSlabs
	if keep {
		heap.Push(&p.idle, s)
	}
	p.mu.Unlock()
	if !keep {
		s.buf.Release()
	}
}

// trim gives up what is idle.
func (p *slabPool) trim() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, s := range idle {
		s.buf.Release()
	}
}

// slab is memory of slabBytes that lives until the work has ended and the recorder is released.
func (r *recorder) slab() (*slab, error) {
	p := &r.e.slabs
	p.mu.Lock()
	var s *slab
	if len(p.idle) > 0 {
		s = heap.Pop(&p.idle).(*slab)
	} else {
		p.made++
		s = &slab{pool: p, seq: p.made}
	}
	p.mu.Unlock()
	if s.buf == nil {
		buf, err := r.e.mem.NewBuffer(slabBytes)
		if err != nil {
			return nil, err
		}
		ref, ok := memory.Lookup(buf.Bytes())
		if !ok || ref.Device() != r.e.dev {
			buf.Release()
			return nil, errNoDeviceMemory
		}
		s.buf, s.at = buf, place{buf: ref.Buffer(), off: ref.Offset()}
	}
	s.refs.Store(2)
	r.slabs = append(r.slabs, s)
	r.pin(pin{slab: s})
	return s, nil
}
