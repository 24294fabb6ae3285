package resident

import (
	"context"
	"sync"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// workerForm is the form of the worker's loads and stores.
const workerForm = "volatile"

// The probe whose verdict Available goes by takes this long.
const (
	verdictWindow   = 30 * time.Millisecond
	verdictInterval = time.Millisecond
)

// modes are the verdicts and workers of this process's devices.
var modes struct {
	sync.Mutex
	byDevice map[gpu.Device]*mode
}

type mode struct {
	sync.Mutex
	probed, works bool
	worker        *Worker
}

func modeOf(d gpu.Device) *mode {
	modes.Lock()
	defer modes.Unlock()
	m := modes.byDevice[d]
	if m == nil {
		m = new(mode)
		if modes.byDevice == nil {
			modes.byDevice = map[gpu.Device]*mode{}
		}
		modes.byDevice[d] = m
	}
	return m
}

// Available says whether resident mode works on a device: a kernel can stay there beside other work, and a probe finds that
// it and the CPU see each other's stores, all of them and within microseconds. The first call for a device probes it, for
// some hundredths of a second; the verdict stays. It is false for a nil, closed or lost device, on Metal and on the
// emulator.
func Available(d gpu.Device) bool {
	if _, ok := d.(device); !ok {
		return false
	}
	m := modeOf(d)
	m.Lock()
	defer m.Unlock()
	return m.available(d)
}

func (m *mode) available(d gpu.Device) bool {
	if !m.probed {
		r, err := Probe(context.Background(), d, Options{Window: verdictWindow, Interval: verdictInterval, Forms: []string{workerForm}})
		if err != nil {
			return false // no verdict: the device may be closed, or out of memory for now
		}
		m.probed, m.works = true, r.Works()
	}
	return m.works
}

// SetMode turns resident mode on or off for a device and returns whether it is on now. On a device where it is not
// Available, or where the worker does not start, it returns false and nothing has changed. While it is on, package compute
// sends small calls over columns in the device's memory to the worker where that is faster. Turning it off waits for tasks
// under way.
func SetMode(d gpu.Device, on bool) bool {
	if _, ok := d.(device); !ok {
		return false
	}
	m := modeOf(d)
	m.Lock()
	defer m.Unlock()
	if !on {
		if m.worker != nil {
			gpu.SetWorker(d, nil)
			m.worker.Close()
			m.worker = nil
		}
		return false
	}
	if m.worker != nil {
		return true
	}
	if !m.available(d) {
		return false
	}
	w, err := NewWorker(d, WorkerOptions{})
	if err != nil {
		return false
	}
	m.worker = w
	gpu.SetWorker(d, w)
	return true
}
