//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/gate"
)

// device is one GPU with one command queue.
type device struct {
	gate.Gate

	rt    *objc
	id    id
	queue id
	info  gpu.Info

	slots  slotPool
	copier byteCopier

	fails atomic.Int32 // commits that failed since the last that did not
}

// Info describes the device.
func (d *device) Info() gpu.Info { return d.info }

// Commands begins a recording.
func (d *device) Commands() gpu.Commands { return &commands{Commands: recordings.Begin(d)} }

// Close waits for work in flight and frees the device. Buffers and pipelines stay valid until they are released. When
// the work does not end in gpu.CommandTimeout the device is closed and its objects are given up, not freed.
func (d *device) Close() error {
	if err := d.Shut(); err != nil {
		return fmt.Errorf("metal: %w", err)
	}
	s := d.rt.begin()
	defer s.end()
	d.slots.free(s)
	d.copier.free()
	s.release(d.queue)
	s.release(d.id)
	return nil
}
