//go:build darwin || linux

package metal

// size is an MTLSize.
type size struct{ width, height, depth uintptr }

// sendSizes passes two structs of 24 bytes by value. On amd64 they are copied to the stack: zeros fill the four integer
// registers that self and _cmd leave, so that what follows goes there.
func (s *session) sendSizes(to id, sel selector, a, b size) {
	s.send(to, sel, 0, 0, 0, 0, a.width, a.height, a.depth, b.width, b.height, b.depth)
}
