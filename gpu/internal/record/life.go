package record

import "sync/atomic"

// Life is that of something which its owner releases and which recordings keep alive meanwhile. Buffers and pipelines
// embed it.
type Life struct {
	refs     atomic.Int32 // the owner's and one for each time a recording names it
	released atomic.Bool  // by the owner
	free     func()
}

// Begin makes the owner's reference; free runs when the last reference is gone.
func (l *Life) Begin(free func()) {
	l.free = free
	l.refs.Store(1)
}

// Release gives the owner's reference back: what it was is freed once no command uses it. A second call does nothing.
func (l *Life) Release() {
	if !l.released.Swap(true) {
		l.Unhold()
	}
}

// Released says whether the owner has.
func (l *Life) Released() bool { return l.released.Load() }

// Hold adds a reference; it fails once the owner has released its own.
func (l *Life) Hold() bool {
	for !l.released.Load() {
		n := l.refs.Load()
		if n == 0 {
			return false
		}
		if l.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// Unhold gives back a reference that Hold added.
func (l *Life) Unhold() {
	if l.refs.Add(-1) == 0 {
		l.free()
	}
}
