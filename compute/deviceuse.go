package compute

import (
	"context"

	"github.com/broadhead-go/broadhead/gpu"
)

// DeviceUse is what this process holds of a device's memory for columns and for kernels, in bytes where nothing else is
// said. The memory of allocators is in their own Stats.
type DeviceUse struct {
	Columns int   // copies of buffers that ToDevice made, and columns that Batch.Keep left there
	Bytes   int64 // of these, and of copies being made
	Peak    int64 // the most that Bytes has been
	Budget  int64 // of Bytes; see SetDeviceBudget
	Evicted int64 // those that others took the place of; kept columns went to the host
	Refused int64 // those that were not made, since the budget had no room

	Kernels int64 // kept columns, and what kernels hand to each other, on devices with memory of their own
	Idle    int64 // kept for the next kernels
}

// DeviceUseOf tells what the context's device holds now. The error is gpu.ErrNoDevice where there is no device.
func DeviceUseOf(ctx context.Context) (DeviceUse, error) {
	dev, err := deviceOf(ctx)
	if err != nil {
		return DeviceUse{}, err
	}
	e := engineOf(dev)
	s, p := &e.residents, &e.private
	s.mu.Lock()
	u := DeviceUse{Columns: len(s.all), Bytes: s.bytes, Peak: s.peak, Budget: s.budget, Evicted: s.evicted, Refused: s.refused}
	s.mu.Unlock()
	p.mu.Lock()
	u.Kernels, u.Idle = p.used, p.idle
	p.mu.Unlock()
	return u, nil
}

// TrimDevice gives memory of the context's device that lies idle between calls back to the device, for others to have.
// Columns and the memory of allocators stay. The error is gpu.ErrNoDevice where there is no device.
func TrimDevice(ctx context.Context) error {
	dev, err := deviceOf(ctx)
	if err != nil {
		return err
	}
	e := engineOf(dev)
	e.slabs.trim()
	e.mem.Trim()
	e.private.trim()
	if g, ok := dev.(gpu.MemoryGauge); ok && e.usable() == nil {
		return g.TrimMemory()
	}
	return nil
}
