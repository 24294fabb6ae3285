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
	size int            // of the pool's, for Private
	free func(*session) // for Shared
	raw  []byte         // ours to unmap, if any
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
	b := &buffer{dev: d, n: n}
	if place == gpu.Private {
		b.at, b.size = d.pool.idling(poolSize(n))
	}
	if b.at == 0 {
		take := b.takeHost
		if place == gpu.Private {
			take = b.takeDevice
		}
		if err := d.patiently(func() error { return b.take(take) }, func() { b.begin().Release() }); err != nil {
			return nil, err
		}
	}
	return b.begin(), nil
}

// begin makes the owner's reference.
func (b *buffer) begin() *buffer {
	b.dev.ctx.retain()
	b.Begin(b.giveBack)
	return b
}

func (b *buffer) take(from func(*session) error) error {
	s, err := b.dev.ctx.begin()
	if err != nil {
		return err
	}
	defer s.end()
	return from(s)
}

func (b *buffer) takeDevice(s *session) error {
	b.size = poolSize(b.n)
	at, st := b.dev.pool.take(s, b.size)
	if st != success {
		return b.dev.memoryError(st, b.n)
	}
	b.at = at
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
func (b *buffer) giveBack() {
	d := b.dev
	if b.size > 0 && !d.Ends.Overdue() && d.pool.keep(b.at, b.size) {
		d.ctx.release()
		return
	}
	d.Ends.Afterwards(func() { _ = d.patiently(b.giveBackNow, nil) })
}

func (b *buffer) giveBackNow() error {
	if s, err := b.dev.ctx.begin(); err == nil { // else what was in the context is gone with it
		if b.size > 0 {
			s.call(cuMemFree, b.at)
		} else {
			b.free(s)
		}
		s.end()
	}
	if b.raw != nil {
		_ = unix.Munmap(b.raw)
	}
	b.dev.ctx.release()
	return nil
}
