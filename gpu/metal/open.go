//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"

	"github.com/broadhead-go/broadhead/gpu"
)

const (
	familyApple7 = 1007  // M1; the first with all we use
	pageSize     = 16384 // what newBufferWithBytesNoCopy asks of pointer and length
	simdWidth    = 32    // what the kernels are written for
)

// Open returns the devices of a Metal framework, the system's default first. driver is the name Info carries. Devices
// that the kernels cannot run on are left out; when that leaves none the error says what they lack.
func Open(libs Libs, driver string) ([]gpu.Device, error) {
	rt, err := bind(libs)
	if err != nil {
		return nil, err
	}
	s := rt.begin()
	defer s.end()
	var devices []gpu.Device
	var unfit error
	for _, o := range s.devices() {
		if err := s.unfit(o); err != nil {
			s.release(o)
			unfit = err
			continue
		}
		d, err := s.newDevice(o, driver)
		if err != nil {
			s.release(o)
			return devices, err
		}
		devices = append(devices, d)
	}
	if devices == nil && unfit == nil {
		unfit = fmt.Errorf("metal: the system offers no device")
	}
	if devices == nil {
		return nil, unfit
	}
	return devices, nil
}

// devices lists the system's devices; the caller owns a reference to each.
func (s *session) devices() []id {
	var list []id
	first := id(s.call(s.rt.createDefaultDevice))
	if first != 0 {
		list = append(list, first)
	}
	all := id(s.call(s.rt.copyDevices))
	if all == 0 {
		return list
	}
	defer s.release(all)
	for i := range s.send(all, selCount) {
		if o := id(s.send(all, selObjectAtIndex, i)); o != first {
			s.retain(o)
			list = append(list, o)
		}
	}
	return list
}

// unfit says what a device lacks.
func (s *session) unfit(o id) error {
	name := s.text(id(s.send(o, selName)))
	switch {
	case !s.sendBool(o, selHasUnifiedMemory):
		return fmt.Errorf("%w: %s: it does not share memory with the CPU", gpu.ErrUnsupported, name)
	case !s.sendBool(o, selSupportsFamily, familyApple7):
		return fmt.Errorf("%w: %s: it is not of Metal's family Apple7 (M1) or later", gpu.ErrUnsupported, name)
	}
	return nil
}

// newDevice makes a device of an object whose reference it takes, with a command queue of its own.
func (s *session) newDevice(o id, driver string) (*device, error) {
	queue := id(s.send(o, selNewCommandQueue))
	if queue == 0 {
		return nil, fmt.Errorf("metal: the device gives no command queue")
	}
	return s.deviceOf(o, queue, driver), nil
}

// deviceOf makes a device of an object and a command queue whose references it takes.
func (s *session) deviceOf(o, queue id, driver string) *device {
	d := &device{
		rt:    s.rt,
		id:    o,
		queue: queue,
		info: gpu.Info{
			Driver:           driver,
			Name:             s.text(id(s.send(o, selName))),
			Unified:          true,
			Caps:             s.rt.caps,
			SIMDWidth:        simdWidth,
			ThreadgroupBytes: int(s.send(o, selMaxThreadgroupMemory)),
			PageSize:         pageSize,
			MemoryBytes:      int64(s.send(o, selRecommendedWorkingSet)),
			MaxBufferBytes:   int64(s.send(o, selMaxBufferLength)),
		},
	}
	d.Open()
	return d
}
