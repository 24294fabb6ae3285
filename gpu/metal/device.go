//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
)

// device is one GPU with one command queue.
type device struct {
	rt    *objc
	id    id
	queue id
	info  gpu.Info
	ends  *gpu.Completions

	gate   sync.RWMutex // held for reading by every call that uses the device's objects, for writing by Close
	closed bool

	slots  slotPool
	copier byteCopier

	fails atomic.Int32 // commits that failed since the last that did not
	lost  atomic.Pointer[error]
}

// enter begins a call; leave ends it when enter returned nil. A device that is closed or lost does not let anybody in.
func (d *device) enter() error {
	d.gate.RLock()
	if d.closed {
		d.gate.RUnlock()
		return gpu.ErrClosed
	}
	if lost := d.lost.Load(); lost != nil {
		d.gate.RUnlock()
		return *lost
	}
	return nil
}

func (d *device) leave() { d.gate.RUnlock() }

// Info describes the device.
func (d *device) Info() gpu.Info { return d.info }

// Commands begins a recording.
func (d *device) Commands() gpu.Commands { return &commands{recordings.Begin(d)} }

// Close waits for work in flight and frees the device. Buffers and pipelines stay valid until they are released. When
// the work does not end in gpu.CommandTimeout the device is closed and its objects are given up, not freed.
func (d *device) Close() error {
	d.gate.Lock()
	if d.closed {
		d.gate.Unlock()
		return gpu.ErrClosed
	}
	d.closed = true
	d.gate.Unlock()
	if err := d.ends.Close(); err != nil {
		return fmt.Errorf("metal: close: %w", err)
	}
	s := d.rt.begin()
	defer s.end()
	d.slots.free(s)
	d.copier.free()
	s.release(d.queue)
	s.release(d.id)
	return nil
}
