package memory

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/gpu"
)

// Allocator allocates Arrow buffers in memory of one device, or in plain memory. It implements arrow-go's
// memory.Allocator and is safe for concurrent use. Make one with New and share it; a program seldom needs two.
type Allocator struct {
	dev       gpu.Device
	lost      atomic.Bool // the device is; arenas are plain memory from now on
	maxArena  int
	badFrees  atomic.Int64
	collector collector

	growing sync.Mutex // held while a shared arena is made, so that goroutines in need of one make one

	mu         sync.Mutex // short: never held across a device or system call, or while bytes are cleared
	closed     bool
	classes    [numClasses]spanList
	pool       []*arena // the shared arenas, in order of making
	cachedRuns []*span  // free blocks that have an arena of their own, the longest free first
	limit      int64    // of reserved; 0 is none
	cacheLimit int64
	evictAt    int64 // cached bytes that start an eviction
	reserved   int64 // bytes of arenas, and of arenas being made
	pooled     int64 // those of shared arenas
	stats      Stats // all but the fields that Stats computes
}

var _ arrowmemory.Allocator = (*Allocator)(nil)

// Option changes how New makes an Allocator.
type Option func(*Allocator)

// WithLimit is SetLimit at the start.
func WithLimit(bytes int64) Option {
	return func(a *Allocator) { a.limit = max(bytes, 0) }
}

// WithCacheLimit sets how many free bytes are kept for later requests. The default is a quarter of the device's
// memory, 1 GiB if that is not known. Zero keeps none but the unused parts of shared arenas.
func WithCacheLimit(bytes int64) Option {
	return func(a *Allocator) { a.cacheLimit = max(bytes, 0) }
}

// New returns an allocator of memory that dev can use. With a nil dev it allocates plain memory: on Linux in huge
// pages, on systems without mmap on the Go heap. Nothing is allocated yet. Its arenas are held until Close, whether or
// not the Allocator is still reachable.
//
// GPU: each arena is one Shared buffer of dev. If dev is lost later, new arenas are plain memory.
func New(dev gpu.Device, opts ...Option) *Allocator {
	a := &Allocator{dev: dev, maxArena: maxBlock, cacheLimit: 1 << 30, collector: collector{least: collectAt}}
	if dev != nil {
		info := dev.Info()
		if info.MaxBufferBytes > 0 && info.MaxBufferBytes < int64(maxBlock) {
			a.maxArena = int(info.MaxBufferBytes) &^ (lineSize - 1)
		}
		if info.MemoryBytes > 0 {
			a.cacheLimit = info.MemoryBytes / 4
		}
	}
	for _, o := range opts {
		o(a)
	}
	a.evictAt = a.cacheLimit
	return a
}

// Device returns what New was given.
func (a *Allocator) Device() gpu.Device { return a.dev }

// Allocate returns n zero bytes that start on a 128-byte line; the rest of the last line is theirs and zero too.
// Allocate(0) is legal and takes no memory.
//
// It panics with an error if n is negative, and with one that wraps gpu.ErrOutOfMemory if there is no memory, as
// arrow-go's allocators do.
func (a *Allocator) Allocate(n int) []byte {
	t, err := a.allocate(n)
	if err != nil {
		panic(err)
	}
	if n == 0 {
		return []byte{}
	}
	if t.dirty {
		clear(t.bytes(padded(n)))
	}
	return t.bytes(n)
}

// AllocateUninitialized is Allocate without the clearing: the bytes may be those of an earlier column. The caller
// must write every one of them, padding included.
func (a *Allocator) AllocateUninitialized(n int) []byte {
	b, err := a.TryAllocateUninitialized(n)
	if err != nil {
		panic(err)
	}
	return b
}

// TryAllocateUninitialized is AllocateUninitialized that returns the error: one that wraps gpu.ErrOutOfMemory when the
// device, the system or the limit has no room, gpu.ErrClosed after Close.
func (a *Allocator) TryAllocateUninitialized(n int) ([]byte, error) {
	t, err := a.allocate(n)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return []byte{}, nil
	}
	if poisoned {
		poison(t.bytes(t.span.size))
	}
	return t.bytes(n), nil
}

// allocate takes a block for n bytes; none if n is 0.
func (a *Allocator) allocate(n int) (t taken, err error) {
	if n <= 0 {
		if n < 0 {
			err = fmt.Errorf("memory: cannot allocate %d bytes", n)
		}
		return t, err
	}
	if t, err = a.take(n); err == nil && poisoned && t.used {
		checkPoison(t.bytes(t.span.size))
	}
	return t, err
}

// padded is n bytes and the rest of the last line, which belongs to the same block.
func padded(n int) int { return roundUp(n, lineSize) }

// Reallocate returns n bytes that begin with those of b, as many as both have; the others are zero. The block is kept
// where n fits it and fills more than half of it, else b is freed and must not be used any more. Reallocate(0, b)
// frees b. A b that is empty, or whose memory is not of this allocator, is treated as bytes to copy.
//
// It panics as Allocate does; b is then still allocated and unchanged.
func (a *Allocator) Reallocate(n int, b []byte) []byte {
	blk, ok := a.blockOf(b)
	if !ok {
		if cap(b) > 0 {
			a.badFree("Reallocate of", b)
		}
		out := a.Allocate(n)
		copy(out, b)
		return out
	}
	if n == 0 {
		a.free(blk)
		return []byte{}
	}
	size := blk.span.size
	fits := n > 0 && n <= size
	if fits && (n >= len(b) || n > size/2) {
		return regrow(blk, n, len(b))
	}
	t, err := a.allocate(n)
	if err != nil {
		if fits {
			return regrow(blk, n, len(b)) // there is no memory to move to, and no need
		}
		panic(err)
	}
	kept := copy(t.bytes(n), b)
	a.free(blk)
	if !t.dirty {
		kept = n
	}
	return regrow(t.block, n, kept)
}

// regrow returns the first n bytes of a block, of which those after the first kept are cleared, to the end of the last
// line.
func regrow(blk block, n, kept int) []byte {
	if kept < n {
		clear(blk.bytes(padded(n))[kept:])
	}
	return blk.bytes(n)
}

// Free gives back the block that starts where b starts, whatever b's length: slices shortened by Reallocate or by the
// caller are as good. A block that commands retain is parked until the last of them has ended. A nil or empty b
// without capacity is ignored; memory that is not an allocated block of this allocator (freed before, perhaps) is
// ignored and counted in Stats.
func (a *Allocator) Free(b []byte) {
	if cap(b) == 0 {
		return
	}
	blk, ok := a.blockOf(b)
	if !ok || !a.free(blk) {
		a.badFree("Free of", b)
	}
}

// Owns reports whether b's first byte lies in an allocated block of this allocator.
func (a *Allocator) Owns(b []byte) bool {
	blk, _, ok := find(b)
	return ok && blk.span.ar.owner == a
}

// blockOf returns the block in use that starts where b starts.
func (a *Allocator) blockOf(b []byte) (block, bool) {
	blk, off, ok := find(b)
	return blk, ok && off == 0 && blk.span.ar.owner == a
}

func (a *Allocator) badFree(what string, b []byte) {
	a.badFrees.Add(1)
	if poisoned {
		panic(fmt.Errorf("memory: %s %d bytes at %p that are no block in use of this allocator", what, len(b), b))
	}
}

func isLost(err error) bool { return errors.Is(err, gpu.ErrDeviceLost) }
