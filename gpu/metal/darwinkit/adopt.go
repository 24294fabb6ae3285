//go:build darwin && cgo

package darwinkit

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
	kit "github.com/progrium/darwinkit/macos/metal"
	"github.com/progrium/darwinkit/objc"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal"
)

// SystemDevice returns the system's default device, which the caller releases. DarwinKit has no function for it.
func SystemDevice() (kit.DeviceObject, error) {
	libs, err := metal.System()
	if err != nil {
		return kit.DeviceObject{}, err
	}
	create, err := purego.Dlsym(libs.Metal, "MTLCreateSystemDefaultDevice")
	if err != nil {
		return kit.DeviceObject{}, fmt.Errorf("darwinkit: %w", err)
	}
	object, _, _ := purego.SyscallN(create)
	if object == 0 {
		return kit.DeviceObject{}, fmt.Errorf("%w: darwinkit: the system offers no device", gpu.ErrNoDevice)
	}
	return kit.DeviceObject{Object: fromAddress(object)}, nil
}

// Adopt makes a Broadhead device of an application's device and command queue; the zero queue means a new one. Use it with
// memory.New and compute.WithDevice. The application keeps its references; Close gives back those taken here.
// A device that the kernels cannot run on is gpu.ErrUnsupported.
func Adopt(dev kit.DeviceObject, queue kit.CommandQueueObject) (gpu.Device, error) {
	libs, err := metal.System()
	if err != nil {
		return nil, err
	}
	return metal.Adopt(libs, "metal", address(dev), address(queue))
}

func address(o objc.Handle) uintptr { return uintptr(o.Ptr()) }

// fromAddress is an object by its address, which is no memory of Go's.
func fromAddress(object uintptr) objc.Object {
	return objc.ObjectFrom(*(*unsafe.Pointer)(unsafe.Pointer(&object)))
}
