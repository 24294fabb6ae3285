//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"fmt"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

// MTLResourceOptions: untracked, in memory shared with the CPU or not.
const (
	optionsShared  = 0<<4 | 1<<8
	optionsPrivate = 2<<4 | 1<<8
)

var errNoSize = errors.New("metal: an allocation's size must be positive")

// buffer is an MTLBuffer and the memory under it.
type buffer struct {
	dev     *device
	id      id
	host    []byte // nil for Private; keeps wrapped memory reachable
	n       int
	memory  mapping // ours to unmap, if any
	ownsMem bool
	record.Life
}

// Alloc returns memory. Shared memory is mapped outside the Go heap and used without a copy.
func (d *device) Alloc(n int, place gpu.Place) (gpu.Buffer, error) {
	if err := d.Enter(); err != nil {
		return nil, err
	}
	defer d.Leave()
	switch {
	case n <= 0:
		return nil, errNoSize
	case int64(n) > d.info.MaxBufferBytes-pageSize:
		return nil, fmt.Errorf("%w: %d bytes; a buffer has at most %d", gpu.ErrOutOfMemory, n, d.info.MaxBufferBytes)
	}
	switch place {
	case gpu.Private:
		return d.allocPrivate(n)
	case gpu.Shared:
		return d.allocShared(n)
	}
	return nil, fmt.Errorf("metal: place %d: %w", place, gpu.ErrUnsupported)
}

func (d *device) allocShared(n int) (gpu.Buffer, error) {
	m, err := mapMemory(n)
	if err != nil {
		return nil, fmt.Errorf("%w: %d bytes: %w", gpu.ErrOutOfMemory, n, err)
	}
	b := d.newBuffer(n, m.page)
	if b == nil {
		m.unmap()
		return nil, fmt.Errorf("%w: %d bytes", gpu.ErrOutOfMemory, n)
	}
	b.host, b.memory, b.ownsMem = m.page[:n], m, true
	return b, nil
}

func (d *device) allocPrivate(n int) (gpu.Buffer, error) {
	s := d.rt.begin()
	defer s.end()
	o := id(s.send(d.id, selNewBuffer, uintptr(n), optionsPrivate))
	if o == 0 {
		return nil, fmt.Errorf("%w: %d bytes", gpu.ErrOutOfMemory, n)
	}
	return d.adopt(o, n), nil
}

// Wrap makes host memory a buffer without a copy. The slice stays reachable until the buffer is released.
func (d *device) Wrap(host []byte) (gpu.Buffer, error) {
	if err := d.Enter(); err != nil {
		return nil, err
	}
	defer d.Leave()
	if len(host) == 0 || len(host)%pageSize != 0 || address(host)%pageSize != 0 {
		return nil, fmt.Errorf("%w: %d bytes at %#x; the page has %d", gpu.ErrUnaligned, len(host), address(host), pageSize)
	}
	if int64(len(host)) > d.info.MaxBufferBytes {
		return nil, fmt.Errorf("%w: %d bytes; a buffer has at most %d", gpu.ErrOutOfMemory, len(host), d.info.MaxBufferBytes)
	}
	b := d.newBuffer(len(host), host)
	if b == nil {
		return nil, fmt.Errorf("%w: Metal does not wrap %d bytes at %#x", gpu.ErrOutOfMemory, len(host), address(host))
	}
	b.host = host
	return b, nil
}

// newBuffer makes an MTLBuffer over whole pages, nil if Metal refuses.
func (d *device) newBuffer(n int, pages []byte) *buffer {
	s := d.rt.begin()
	defer s.end()
	o := id(s.send(d.id, selNewBufferNoCopy, address(pages), uintptr(len(pages)), optionsShared, 0))
	if o == 0 {
		return nil
	}
	return d.adopt(o, n)
}

// adopt makes a buffer of an MTLBuffer whose reference it takes.
func (d *device) adopt(o id, n int) *buffer {
	b := &buffer{dev: d, id: o, n: n}
	b.Begin(b.free)
	return b
}

// Host is the memory as the CPU sees it, nil for Private.
func (b *buffer) Host() []byte { return b.host }

// Len is the size that was asked for.
func (b *buffer) Len() int { return b.n }

// Owner is the device that the buffer is memory of.
func (b *buffer) Owner() *device { return b.dev }

func (b *buffer) free() {
	s := b.dev.rt.begin()
	s.release(b.id)
	s.end()
	if b.ownsMem {
		b.memory.unmap()
	}
}
