//go:build (darwin || linux) && (amd64 || arm64)

package metal

import "github.com/broadhead-go/broadhead/gpu"

// What the tests outside see of the driver's inside.
var (
	CompileError   = compileError
	CheckSelectors = checkSelectors
	PlainEncoding  = plainEncoding
)

// KeptSlots and LostAfter are the driver's limits.
const (
	KeptSlots = keptSlots
	LostAfter = lostAfter
)

// Objects are the MTLDevice and MTLCommandQueue of a device of this driver.
func Objects(d gpu.Device) (dev, queue uintptr) {
	return uintptr(d.(*device).id), uintptr(d.(*device).queue)
}
