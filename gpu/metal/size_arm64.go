//go:build darwin || linux

package metal

import (
	"runtime"
	"unsafe"
)

// size is an MTLSize.
type size struct{ width, height, depth uintptr }

// sendSizes passes two structs of 24 bytes by value. On arm64 the caller copies them to memory, which the callee may
// write to, and passes the addresses: they lie in the argument block behind the four arguments.
func (s *session) sendSizes(to id, sel selector, a, b size) {
	copies := s.args[4:10]
	copies[0], copies[1], copies[2] = a.width, a.height, a.depth
	copies[3], copies[4], copies[5] = b.width, b.height, b.depth
	s.send(to, sel, uintptr(unsafe.Pointer(&copies[0])), uintptr(unsafe.Pointer(&copies[3])))
	runtime.KeepAlive(s)
}
