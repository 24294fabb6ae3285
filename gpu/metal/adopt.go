//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"

	"github.com/broadhead-go/broadhead/gpu"
)

// Adopt makes a device of an application's MTLDevice and MTLCommandQueue, so that both use one queue and one set of
// buffers. A queue of 0 means a new one. driver is the name Info carries; crossovers go by it.
//
// It takes references of its own, which Close gives back: the application keeps those it has. The errors are those of
// Open: gpu.ErrUnsupported for a device that the kernels cannot run on.
func Adopt(libs Libs, driver string, dev, queue uintptr) (gpu.Device, error) {
	if dev == 0 {
		return nil, fmt.Errorf("%w: metal: adopt: no MTLDevice", gpu.ErrNoDevice)
	}
	rt, err := bind(libs)
	if err != nil {
		return nil, err
	}
	s := rt.begin()
	defer s.end()
	if err := s.unfit(id(dev)); err != nil {
		return nil, err
	}
	s.retain(id(dev))
	if queue != 0 {
		s.retain(id(queue))
		return s.deviceOf(id(dev), id(queue), driver), nil
	}
	d, err := s.newDevice(id(dev), driver)
	if err != nil {
		s.release(id(dev))
		return nil, err
	}
	return d, nil
}

// Object returns the MTLBuffer under a buffer of this driver. It stays valid until the buffer is released; who needs it
// longer retains it. Work that others commit on it is not ordered with ours: they wait for ours to end before they
// commit theirs, and the other way round.
func Object(b gpu.Buffer) (uintptr, error) {
	buf, ok := b.(*buffer)
	if !ok {
		return 0, fmt.Errorf("%w: metal: no buffer of this driver: %T", gpu.ErrUnsupported, b)
	}
	if buf.Released() {
		return 0, fmt.Errorf("%w: metal: the buffer was released", gpu.ErrClosed)
	}
	return uintptr(buf.id), nil
}

// Import makes a buffer of an application's MTLBuffer, which must be of the same MTLDevice. host is its memory as the
// CPU sees it, as long as the buffer, or nil for a private one of n bytes. The MTLBuffer is retained until the buffer is
// released, and with it memory that Metal allocated; memory that somebody else mapped must stay mapped until then.
func Import(d gpu.Device, object uintptr, host []byte, n int) (gpu.Buffer, error) {
	dev, ok := d.(*device)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: metal: no device of this driver: %T", gpu.ErrUnsupported, d)
	case object == 0:
		return nil, fmt.Errorf("metal: import: no MTLBuffer")
	case n <= 0 || host != nil && len(host) != n:
		return nil, fmt.Errorf("metal: import: a buffer of %d bytes with %d in host memory", n, len(host))
	}
	if err := dev.Enter(); err != nil {
		return nil, err
	}
	defer dev.Leave()
	s := dev.rt.begin()
	defer s.end()
	s.retain(id(object))
	b := dev.adopt(id(object), n)
	b.host = host
	return b, nil
}
