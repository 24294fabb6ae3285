package compute

import (
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
)

// privatePool keeps memory that only the device sees, by powers of two, for devices that do not share the host's. On
// those, what kernels hand to each other stays there.
type privatePool struct {
	mu   sync.Mutex
	free [64][]gpu.Buffer
}

// privateMin is the smallest block: drivers round small ones up anyway.
const privateMin = 64 << 10

// privateBlock is memory from the pool; it returns there with the last reference.
type privateBlock struct {
	pool *privatePool
	buf  gpu.Buffer
	refs atomic.Int32
}

func (b *privateBlock) retain() { b.refs.Add(1) }

func (b *privateBlock) release() {
	if b.refs.Add(-1) == 0 {
		b.pool.put(b.buf)
	}
}

func privateClass(n int) int { return bits.Len(uint(max(n, privateMin) - 1)) }

func (p *privatePool) put(b gpu.Buffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := privateClass(b.Len())
	p.free[c] = append(p.free[c], b)
}

func (p *privatePool) take(n int) gpu.Buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := privateClass(n)
	list := p.free[c]
	if len(list) == 0 {
		return nil
	}
	b := list[len(list)-1]
	p.free[c] = list[:len(list)-1]
	return b
}

// trim gives the cached blocks back to the device.
func (p *privatePool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, list := range p.free {
		for _, b := range list {
			b.Release()
		}
		p.free[c] = nil
	}
}

// takePrivate is a block of at least n bytes with one reference. When the device is out of memory, cached blocks and
// device columns make room, and the request is tried once more.
func (e *engine) takePrivate(n int) (*privateBlock, error) {
	b := e.private.take(n)
	if b == nil {
		var err error
		size := 1 << privateClass(n)
		if b, err = e.dev.Alloc(size, gpu.Private); errors.Is(err, gpu.ErrOutOfMemory) {
			e.private.trim()
			e.residents.evict(int64(size))
			b, err = e.dev.Alloc(size, gpu.Private)
		}
		if err != nil {
			return nil, err
		}
	}
	block := &privateBlock{pool: &e.private, buf: b}
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
	r.c.Retain(nil, b.release)
	return place{buf: b.buf}, b, nil
}
