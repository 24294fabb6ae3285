package memory

import (
	"fmt"

	"github.com/broadhead-go/broadhead/gpu"
)

// Ref is a place in one use of a block: what a command needs in order to read or write a column where it is. It is a
// small value without ownership; Retain makes it hold the block.
type Ref struct {
	blk block
	off int // of the place in the block
}

// Lookup returns the place of b's first byte, if that lies in an allocated block of any Allocator of this process:
// b may be a part of the block, shortened, or of length zero with capacity left. It takes no lock and allocates
// nothing.
//
// GPU: a Ref with a Buffer can be bound to a kernel without a copy.
func Lookup(b []byte) (Ref, bool) {
	blk, off, ok := find(b)
	if !ok {
		return Ref{}, false
	}
	return Ref{blk, off}, true
}

// Retain keeps the block out of the pool until as many calls of Release, and reports whether it could: false means
// that the Ref is stale, because the block was freed (and is not parked), or zero.
func (r Ref) Retain() bool {
	if r.blk.span == nil {
		return false
	}
	word := r.blk.word()
	for {
		w := word.Load()
		if w>>genShift != r.blk.gen || w&(liveBit|refMask) == 0 || w&refMask == refMask {
			return false
		}
		if word.CompareAndSwap(w, w+1) {
			return true
		}
	}
}

// Release undoes one Retain. The block returns to the pool when it was freed and this was the last. A Release without
// a Retain is ignored and counted in Stats as a bad free.
func (r Ref) Release() {
	if r.blk.span == nil {
		return
	}
	a := r.blk.span.ar.owner
	word := r.blk.word()
	for {
		w := word.Load()
		if w>>genShift != r.blk.gen || w&refMask == 0 {
			a.badFrees.Add(1)
			if poisoned {
				panic(fmt.Errorf("memory: Release of a block of %d bytes that is not retained", r.blk.span.size))
			}
			return
		}
		if w&(liveBit|refMask) == 1 {
			if a.unpark(r.blk) {
				return
			}
		} else if word.CompareAndSwap(w, w-1) {
			return
		}
	}
}

// Buffer returns the device object that holds the place, at Offset. It is nil where there is none: the memory is
// plain, or the Ref is stale. It is valid while the block is allocated or retained.
func (r Ref) Buffer() gpu.Buffer {
	if r.stale() {
		return nil
	}
	return r.blk.span.ar.buf
}

// Offset is the place's in Buffer, in bytes.
func (r Ref) Offset() int {
	if r.blk.span == nil {
		return 0
	}
	return r.blk.offset() + r.off
}

// Device returns the device that Buffer belongs to; nil where Buffer is.
func (r Ref) Device() gpu.Device {
	if r.Buffer() == nil {
		return nil
	}
	return r.blk.span.ar.owner.dev
}

// Room is the bytes from the place to the end of the block, all of which a command may touch.
func (r Ref) Room() int {
	if r.blk.span == nil {
		return 0
	}
	return r.blk.span.size - r.off
}

// Gen is the block's generation: uses of the same memory one after the other differ in it.
func (r Ref) Gen() uint64 { return r.blk.gen }

func (r Ref) stale() bool {
	if r.blk.span == nil {
		return true
	}
	w := r.blk.word().Load()
	return w>>genShift != r.blk.gen || w&(liveBit|refMask) == 0
}
