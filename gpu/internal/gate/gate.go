// Package gate lets calls into a device until it is closed or lost.
package gate

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
)

// Gate is what every driver's device embeds.
type Gate struct {
	Ends *gpu.Completions // of the device's commits

	mu     sync.RWMutex // held for reading by every call that uses the device, for writing by Shut
	closed bool
	lost   atomic.Pointer[error]
}

// Open lets calls in.
func (g *Gate) Open() {
	g.Ends = gpu.NewCompletions()
	g.Ends.OnOverdue(func(err error) { g.lose(fmt.Errorf("%w: %w", gpu.ErrDeviceLost, err)) })
}

// Enter begins a call; Leave ends it when Enter returned nil. A device that is closed or lost does not let anybody in.
func (g *Gate) Enter() error {
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return gpu.ErrClosed
	}
	if lost := g.lost.Load(); lost != nil {
		g.mu.RUnlock()
		return *lost
	}
	return nil
}

// Lost is why the device is, nil while it is not.
func (g *Gate) Lost() error {
	if lost := g.lost.Load(); lost != nil {
		return *lost
	}
	return nil
}

// Leave ends a call.
func (g *Gate) Leave() { g.mu.RUnlock() }

// Shut lets nobody in any more, waits for the calls inside, then for work in flight, as long as that ends in time
// (gpu.CommandTimeout). It is gpu.ErrClosed the second time.
func (g *Gate) Shut() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return gpu.ErrClosed
	}
	g.closed = true
	g.mu.Unlock()
	if err := g.Ends.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// Lose makes the device refuse all further work and releases those who wait for it. The first reason stays.
func (g *Gate) Lose(why string) error { return g.lose(fmt.Errorf("%w: %s", gpu.ErrDeviceLost, why)) }

func (g *Gate) lose(err error) error {
	if !g.lost.CompareAndSwap(nil, &err) {
		return *g.lost.Load()
	}
	g.Ends.Fail(err)
	return err
}
