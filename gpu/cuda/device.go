//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
)

// device is one GPU.
type device struct {
	drv      *driver
	ctx      *primary
	compiler *nvrtc
	arch     int // 90 is compute capability 9.0
	images   *imageCache
	info     gpu.Info
	ends     *gpu.Completions

	gate   sync.RWMutex // held for reading by every call that uses the device, for writing by Close
	closed bool

	joining sync.RWMutex // held for reading by those who block in the driver
	freed   bool         // streams and events are gone

	slots  slotPool
	pool   memoryPool
	copier hostCopier

	lost atomic.Pointer[error]
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
// the work does not end in gpu.CommandTimeout the device is closed and its streams are given up, not freed.
func (d *device) Close() error {
	d.gate.Lock()
	if d.closed {
		d.gate.Unlock()
		return gpu.ErrClosed
	}
	d.closed = true
	d.gate.Unlock()
	if err := d.ends.Close(); err != nil {
		return fmt.Errorf("cuda: close: %w", err)
	}
	d.joining.Lock()
	d.freed = true
	d.joining.Unlock()
	if s, err := d.ctx.begin(); err == nil {
		d.slots.free(s)
		d.pool.close(s)
		s.end()
	}
	d.copier.free()
	d.ctx.release()
	return nil
}

// judge makes our error of a call that failed; most say that the context is broken for good.
func (d *device) judge(st status) error {
	err := d.drv.describe(st)
	switch st {
	case errorOutOfMemory:
		return fmt.Errorf("%w: %w", gpu.ErrOutOfMemory, err)
	case errorLaunchResources, errorNoBinary, errorInvalidPTX, errorUnsupportedPTX, errorInvalidValue, errorNotSupported:
		return &gpu.CommandError{Log: err.Error()}
	}
	return d.lose(err.Error())
}

// lose makes the device refuse all further work and releases those who wait for it.
func (d *device) lose(why string) error {
	err := fmt.Errorf("%w: %s", gpu.ErrDeviceLost, why)
	if !d.lost.CompareAndSwap(nil, &err) {
		return *d.lost.Load()
	}
	d.ends.Fail(err)
	return err
}
