//go:build linux && (amd64 || arm64)

package cuda

import "sync/atomic"

// counted is the life of something that its owner releases and that recordings keep alive meanwhile.
type counted struct {
	refs     atomic.Int32 // the owner's and one for each time a recording names it
	released atomic.Bool  // by the owner
}

// own makes the owner's reference.
func (c *counted) own() { c.refs.Store(1) }

// disown gives the owner's reference back, once; it says whether that was the last reference.
func (c *counted) disown() bool { return !c.released.Swap(true) && c.drop() }

// hold adds a reference; it fails once the owner has released its own.
func (c *counted) hold() bool {
	for !c.released.Load() {
		n := c.refs.Load()
		if n == 0 {
			return false
		}
		if c.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// drop gives a reference back; it says whether that was the last.
func (c *counted) drop() bool { return c.refs.Add(-1) == 0 }
