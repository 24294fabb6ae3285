package compute

import (
	"container/heap"
	"errors"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
)

// privatePool keeps memory that only the device sees, by powers of two, for devices that do not share the host's. On
// those, what kernels hand to each other stays there.
type privatePool struct {
	mu    sync.Mutex
	free  [64]lowest[*privateBlock]
	made  int
	idle  int64 // bytes in free
	used  int64 // bytes of blocks in use
	limit int64 // of idle
}

// privateMin is the smallest block: drivers round small ones up anyway.
const privateMin = 64 << 10

// privateBlock is memory from the pool; it returns there with the last reference.
type privateBlock struct {
	pool *privatePool
	buf  gpu.Buffer
	refs atomic.Int32

	seq    int
	needed bool // by a result of the recorder that has it
}

func (b *privateBlock) number() int { return b.seq }

func (b *privateBlock) retain() { b.refs.Add(1) }

func (b *privateBlock) release() {
	if b.refs.Add(-1) == 0 {
		b.pool.put(b)
	}
}

func privateClass(n int) int { return bits.Len(uint(max(n, privateMin) - 1)) }

// put keeps a block for the next of its size, or gives it back to the device.
func (p *privatePool) put(b *privateBlock) {
	size := int64(b.buf.Len())
	p.mu.Lock()
	p.used -= size
	keep := p.idle+size <= p.limit
	if keep {
		c := privateClass(b.buf.Len())
		heap.Push(&p.free[c], b)
		p.idle += size
	}
	p.mu.Unlock()
	if !keep {
		b.buf.Release()
	}
}

func (p *privatePool) take(n int) *privateBlock {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := privateClass(n)
	if len(p.free[c]) == 0 {
		return nil
	}
	b := heap.Pop(&p.free[c]).(*privateBlock)
	p.idle -= int64(b.buf.Len())
	p.used += int64(b.buf.Len())
	return b
}

// trim gives the cached blocks back to the device.
func (p *privatePool) trim() {
	p.mu.Lock()
	idle := p.free
	p.free, p.idle = [64]lowest[*privateBlock]{}, 0
	p.mu.Unlock()
	for _, list := range idle {
		for _, b := range list {
			b.buf.Release()
		}
	}
}

// alloc is memory of the device's own. When there is none, cached blocks and device columns make room: first as many as
// the request is large, then all that are not in use.
func (e *engine) alloc(size int) (gpu.Buffer, error) {
	b, err := e.dev.Alloc(size, gpu.Private)
	for _, room := range []int64{0, int64(size), math.MaxInt64} {
		if !errors.Is(err, gpu.ErrOutOfMemory) {
			break
		}
		if room > 0 {
			e.residents.evict(room)
		}
		e.private.trim()
		b, err = e.dev.Alloc(size, gpu.Private)
	}
	return b, err
}

// takePrivate is a block of at least n bytes with one reference.
func (e *engine) takePrivate(n int) (*privateBlock, error) {
	block := e.private.take(n)
	if block == nil {
		b, err := e.alloc(1 << privateClass(n))
		if err != nil {
			return nil, err
		}
		e.private.mu.Lock()
		e.private.used += int64(b.Len())
		e.private.made++
		block = &privateBlock{pool: &e.private, buf: b, seq: e.private.made}
		e.private.mu.Unlock()
	}
	block.needed = false
	block.retain()
	return block, nil
}

// unseen is memory of n bytes that kernels alone use, until the recorder is released.
func (r *recorder) unseen(n int) (place, *privateBlock, error) {
	if r.e.info.Unified {
		_, p, err := r.scratch(n)
		return p, nil, err
	}
	b, err := r.e.takePrivate(n)
	if err != nil {
		return place{}, nil, err
	}
	r.blocks = append(r.blocks, b)
	b.retain()
	r.pin(pin{block: b})
	return place{buf: b.buf}, b, nil
}
