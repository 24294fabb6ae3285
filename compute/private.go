package compute

import (
	"context"
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// privatePool keeps memory that only the device sees, by powers of two, for devices that do not share the host's. On
// those, what kernels hand to each other stays there.
type privatePool struct {
	mu   sync.Mutex
	free [64][]gpu.Buffer
}

// privateMin is the smallest block: drivers round small ones up anyway.
const privateMin = 64 << 10

// block is memory from the pool; it returns there with the last reference.
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

// bringHome records the copy of a result to memory that the host sees, on devices where kernels wrote it elsewhere. Of
// chunks whose length only the device knows it does so once that is known.
func (r *recorder) bringHome(v *value, ended bool) (err error) {
	for i := range v.parts {
		p := &v.parts[i]
		if p.home() || p.count != nil && !ended {
			continue
		}
		if r.c == nil {
			r.c, r.epoch = r.e.dev.Commands(), r.epoch+1
		}
		if p.values.epoch == r.epoch || p.valid.epoch == r.epoch {
			r.c.Barrier()
			r.epoch++
		}
		n := p.rows()
		if p.valueBuf, err = r.copyHome(&p.values, wordBytes(p.typ, n)); err != nil {
			return err
		}
		p.host = p.valueBuf.Bytes()
		if p.nullable {
			if p.validBuf, err = r.copyHome(&p.valid, bitmapBytes(n)); err != nil {
				return err
			}
			p.hostValid = p.validBuf.Bytes()
		}
	}
	for _, f := range v.fields {
		if err := r.bringHome(f, ended); err != nil {
			return err
		}
	}
	return nil
}

// home says whether the host sees a part.
func (p *part) home() bool { return p.valueBuf != nil || p.like == nil && p.typ == msl.NoType }

// bringRest brings home what bringHome could not while its length was pending.
func (r *recorder) bringRest(ctx context.Context, v *value) error {
	if err := r.bringHome(v, true); err != nil || r.c == nil {
		return err
	}
	if err := r.commit(); err != nil {
		return err
	}
	return r.event.Wait(ctx)
}

// wordBytes is the size of n values as kernels write them: bitmaps in whole words.
func wordBytes(t msl.Type, n int) int {
	if t == msl.Bool {
		return bitmapBytes(n)
	}
	return bytesFor(t, n)
}
