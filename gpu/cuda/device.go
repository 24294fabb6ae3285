//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/gate"
)

// device is one GPU.
type device struct {
	gate.Gate

	drv *driver
	ctx *primary
	tools
	arch int // 90 is compute capability 9.0
	info gpu.Info

	joining sync.RWMutex // held for reading by those who block in the driver
	freed   bool         // streams and events are gone

	slots  slotPool
	pool   memoryPool
	copier hostCopier
	graphs graphPool
}

// Info describes the device.
func (d *device) Info() gpu.Info { return d.info }

// FreeMemory is what of the device's memory nobody holds.
func (d *device) FreeMemory() (int64, error) {
	if err := d.Enter(); err != nil {
		return 0, err
	}
	defer d.Leave()
	s, err := d.ctx.begin()
	if err != nil {
		return 0, err
	}
	defer s.end()
	if st := s.call(cuMemGetInfo, s.result(0), s.result(1)); st != success {
		return 0, d.judge(st)
	}
	return int64(s.out[0]), nil
}

// TrimMemory gives idle memory of the device's own back to the driver.
func (d *device) TrimMemory() error {
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	return d.patiently(func() error {
		s, err := d.ctx.begin()
		if err == nil {
			d.pool.empty(s)
			s.end()
		}
		return err
	}, nil)
}

// Commands begins a recording.
func (d *device) Commands() gpu.Commands { return &commands{Commands: recordings.Begin(d)} }

// Close waits for work in flight and frees the device. Buffers and pipelines stay valid until they are released. When
// the work does not end in time (gpu.CommandTimeout) the device is closed, and what it has is freed if the work ever ends.
func (d *device) Close() error {
	err := d.Shut()
	switch {
	case err == nil:
		d.end()
		return nil
	case errors.Is(err, gpu.ErrTimeout):
		d.Ends.Afterwards(d.end)
	}
	return fmt.Errorf("cuda: %w", err)
}

// end frees what a closed device has.
func (d *device) end() {
	d.joining.Lock()
	d.freed = true
	d.joining.Unlock()
	if s, err := d.ctx.begin(); err == nil {
		d.graphs.close(s)
		d.slots.free(s)
		d.pool.close(s)
		d.drv.kept.close(d, s)
		s.end()
	}
	d.copier.free()
	d.ctx.release()
}

// judge makes our error of a call that failed; most say that the context is broken for good.
func (d *device) judge(st status) error {
	err := d.drv.describe(st)
	switch st {
	case errorOutOfMemory:
		return fmt.Errorf("%w: %w", gpu.ErrOutOfMemory, err)
	case errorLaunchResources, errorInvalidValue, errorNotSupported, errorNotFound,
		errorInvalidImage, errorNoBinary, errorInvalidPTX, errorNoJIT, errorUnsupportedPTX, errorJITDisabled:
		return &gpu.CommandError{Log: err.Error()}
	}
	return d.Lose(err.Error())
}
