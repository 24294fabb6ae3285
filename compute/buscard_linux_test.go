//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// busCard is a card that counts what crosses its bus, with as much memory of its own as limit says.
type busCard struct {
	card
	home, there atomic.Int64 // bytes
	limit, used atomic.Int64 // of private memory; no limit if 0
}

type busCommands struct {
	gpu.Commands
	dev *busCard
}

// limited counts as used until it is released, and hides its memory from the host, to which the emulator shows it.
type limited struct {
	gpu.Buffer
	dev  *busCard
	once sync.Once
}

func (d *busCard) Commands() gpu.Commands { return &busCommands{d.Device.Commands(), d} }

func (c *busCommands) Copy(dst gpu.Buffer, dstOff int, src gpu.Buffer, srcOff, n int) {
	switch {
	case dst.Host() != nil && src.Host() == nil:
		c.dev.home.Add(int64(n))
	case dst.Host() == nil && src.Host() != nil:
		c.dev.there.Add(int64(n))
	}
	c.Commands.Copy(inner(dst), dstOff, inner(src), srcOff, n)
}

func (c *busCommands) Dispatch(p gpu.Pipeline, groups, threads int, args []gpu.Arg) {
	bound := append([]gpu.Arg(nil), args...)
	for i := range bound {
		if bound[i].Buf != nil {
			bound[i].Buf = inner(bound[i].Buf)
		}
	}
	c.Commands.Dispatch(p, groups, threads, bound)
}

func inner(b gpu.Buffer) gpu.Buffer {
	if l, ok := b.(*limited); ok {
		return l.Buffer
	}
	return b
}

func (d *busCard) Alloc(n int, place gpu.Place) (gpu.Buffer, error) {
	if place != gpu.Private {
		return d.Device.Alloc(n, place)
	}
	if limit := d.limit.Load(); d.used.Add(int64(n)) > limit && limit > 0 {
		d.used.Add(-int64(n))
		return nil, fmt.Errorf("%w: %d bytes of a card of %d", gpu.ErrOutOfMemory, n, limit)
	}
	b, err := d.Device.Alloc(n, place)
	if err != nil {
		d.used.Add(-int64(n))
		return nil, err
	}
	return &limited{Buffer: b, dev: d}, nil
}

func (b *limited) Release() {
	b.once.Do(func() { b.dev.used.Add(-int64(b.Len())) })
	b.Buffer.Release()
}

func (*limited) Host() []byte { return nil }

// crossed is what has crossed the bus since the last call.
func (d *busCard) crossed() (home, there int64) { return d.home.Swap(0), d.there.Swap(0) }

func newBusCard(t *testing.T) (context.Context, *busCard) {
	dev, err := gpu.Open("emulator")
	require.NoError(t, err)
	d := &busCard{card: card{dev}}
	return onDevice(t, d), d
}
