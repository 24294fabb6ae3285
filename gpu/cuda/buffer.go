//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

var errNoSize = errors.New("cuda: an allocation's size must be positive")

// buffer is memory that the device sees.
type buffer struct {
	dev  *device
	at   uintptr // as the device sees it
	host []byte  // nil for Private
	n    int
	free func(*session)
	raw  []byte // ours to unmap, if any
	record.Life
}

// Alloc returns memory: of the device, or of the host, pinned and mapped into the device's address space.
func (d *device) Alloc(n int, place gpu.Place) (gpu.Buffer, error) {
	if err := d.Enter(); err != nil {
		return nil, err
	}
	defer d.Leave()
	switch {
	case n <= 0:
		return nil, errNoSize
	case place > gpu.Private:
		return nil, fmt.Errorf("cuda: place %d: %w", place, gpu.ErrUnsupported)
	}
	b, err := d.alloc(n, place)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// alloc is Alloc inside a call.
func (d *device) alloc(n int, place gpu.Place) (*buffer, error) {
	limit := d.info.MaxBufferBytes
	if place == gpu.Shared && n >= largeHost {
		limit = hostAvailable()
	}
	if int64(n) > limit {
		return nil, fmt.Errorf("%w: %d bytes of at most %d", gpu.ErrOutOfMemory, n, limit)
	}
	s, err := d.ctx.begin()
	if err != nil {
		return nil, err
	}
	defer s.end()
	b := &buffer{dev: d, n: n}
	if place == gpu.Private {
		err = b.takeDevice(s)
	} else {
		err = b.takeHost(s)
	}
	if err != nil {
		return nil, err
	}
	d.ctx.retain()
	b.Begin(b.giveBack)
	return b, nil
}

func (b *buffer) takeDevice(s *session) error {
	size := poolSize(b.n)
	at, st := b.dev.pool.take(s, size)
	if st != success {
		return b.dev.memoryError(st, b.n)
	}
	b.at = at
	b.free = func(s *session) { b.dev.pool.put(s, at, size) }
	return nil
}

// Wrap returns ErrUnsupported: the driver pins pages it is told of, and memory of others may be moved under the pin.
func (d *device) Wrap([]byte) (gpu.Buffer, error) {
	if err := d.Enter(); err != nil {
		return nil, err
	}
	d.Leave()
	return nil, fmt.Errorf("cuda: memory of others is copied: %w", gpu.ErrUnsupported)
}

// Host is the memory as the CPU sees it, nil for Private.
func (b *buffer) Host() []byte { return b.host }

// Len is the size that was asked for.
func (b *buffer) Len() int { return b.n }

// Owner is the device that the buffer is memory of.
func (b *buffer) Owner() *device { return b.dev }

// giveBack frees the memory, for which the driver may wait until the device has ended its work.
func (b *buffer) giveBack() { b.dev.Ends.Afterwards(b.giveBackNow) }

func (b *buffer) giveBackNow() {
	if s, err := b.dev.ctx.begin(); err == nil { // else what was in the context is gone with it
		b.free(s)
		s.end()
	}
	if b.raw != nil {
		_ = unix.Munmap(b.raw)
	}
	b.dev.ctx.release()
}
