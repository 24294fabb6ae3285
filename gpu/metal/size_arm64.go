//go:build darwin || linux

package metal

import (
	"runtime"
	"unsafe"
)

// size is an MTLSize.
type size struct{ width, height, depth uintptr }

// sizeScratch is where a session copies the structs of one message.
type sizeScratch struct{ sizes [2]size }

// sendSizes passes two structs of 24 bytes by value. On arm64 the caller copies them to memory, which the callee may
// write to, and passes the addresses.
func (s *session) sendSizes(to id, sel selector, a, b size) {
	s.sizes = [2]size{a, b}
	s.send(to, sel, uintptr(unsafe.Pointer(&s.sizes[0])), uintptr(unsafe.Pointer(&s.sizes[1])))
	runtime.KeepAlive(s)
}
