package memory

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
)

// arena is one device object, or one mapping of plain memory. A shared arena is divided into spans of whole pages;
// an arena made for one large block has that block's span only.
type arena struct {
	owner *Allocator
	mem   []byte
	size  int
	base  uintptr
	fresh bool       // never written, and zero
	buf   gpu.Buffer // nil for plain memory
	unmap func()     // nil for device memory

	only  *span                  // the span of an arena with one block
	spans []atomic.Pointer[span] // by page, of a shared arena; read without a lock

	// The rest is guarded by owner.mu.
	used      []uint64 // pages that belong to a span
	dirty     []uint64 // pages that were ever written
	freePages int
}

// newArena takes size bytes, a multiple of lineSize, from the device, or from the system if there is no device or it
// is lost.
func (a *Allocator) newArena(size int) (*arena, error) {
	ar := &arena{owner: a}
	var err error
	if a.dev != nil && !a.lost.Load() {
		err = ar.takeDevice(a.dev, size)
		if isLost(err) {
			// Columns must outlive the device: go on in plain memory, where the CPU kernels still run.
			a.lost.Store(true)
			err = ar.takeHost(size)
		}
	} else {
		err = ar.takeHost(size)
	}
	if err != nil {
		return nil, err
	}
	ar.base, ar.size = uintptr(unsafe.Pointer(unsafe.SliceData(ar.mem))), size
	return ar, nil
}

func (ar *arena) takeDevice(dev gpu.Device, size int) error {
	buf, err := dev.Alloc(size, gpu.Shared)
	if err != nil {
		return err
	}
	mem := buf.Host()
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(mem))); len(mem) < size || at%lineSize != 0 {
		buf.Release()
		return fmt.Errorf("memory: device %q gave %d of %d shared bytes at %#x: %w",
			dev.Info().Name, len(mem), size, at, gpu.ErrUnaligned)
	}
	ar.buf, ar.mem = buf, mem[:size:size]
	return nil
}

func (ar *arena) takeHost(size int) error {
	mem, unmap, err := mapHost(size)
	if err != nil {
		return fmt.Errorf("memory: mapping %d bytes: %v: %w", size, err, gpu.ErrOutOfMemory)
	}
	ar.mem, ar.unmap, ar.fresh = mem, unmap, true
	return nil
}

// release gives the memory back. No block of the arena is in use, and the registry no longer names it.
func (ar *arena) release() {
	if ar.buf != nil {
		ar.buf.Release()
	}
	if ar.unmap != nil {
		ar.unmap()
	}

}

// divide makes a shared arena of ar.
func (ar *arena) divide() {
	pages := len(ar.mem) / pageSize
	words := (pages + 63) / 64
	ar.spans = make([]atomic.Pointer[span], pages)
	ar.used, ar.dirty = make([]uint64, words), make([]uint64, words)
	if pages%64 != 0 {
		ar.used[words-1] = ^uint64(0) << (pages % 64)
	}
	if !ar.fresh {
		for i := range ar.dirty {
			ar.dirty[i] = ^uint64(0)
		}
	}
	ar.freePages = pages
}

// spanAt returns the span that holds the byte at offset off, nil if none does.
func (ar *arena) spanAt(off int) *span {
	if ar.only != nil {
		return ar.only
	}
	return ar.spans[off/pageSize].Load()
}

// findPages returns the first run of n free pages, or -1.
func (ar *arena) findPages(n int) int {
	if ar.freePages < n {
		return -1
	}
	for at, limit := 0, len(ar.spans); at+n <= limit; {
		at = nextBit(ar.used, at, false)
		end := nextBit(ar.used, at, true)
		if end-at >= n {
			return at
		}
		at = end
	}
	return -1
}

// nextBit returns the index of the first bit at or after from that equals set; len(w)*64 if none does.
func nextBit(w []uint64, from int, set bool) int {
	for i := from / 64; i < len(w); i++ {
		x := w[i]
		if !set {
			x = ^x
		}
		if i == from/64 {
			x &= ^uint64(0) << (from % 64)
		}
		if x != 0 {
			return i*64 + bits.TrailingZeros64(x)
		}
	}
	return len(w) * 64
}

// carve makes a span of class c from the pages first to first+n, which are free.
func (ar *arena) carve(c, first, n int) *span {
	dirty := false
	for p := first; p < first+n; p++ {
		ar.used[p/64] |= 1 << (p % 64)
		dirty = dirty || ar.dirty[p/64]>>(p%64)&1 != 0
		ar.dirty[p/64] |= 1 << (p % 64)
	}
	ar.freePages -= n
	s := newSpan(ar, c, first*pageSize, classSize(c), n*pageSize/classSize(c), dirty)
	for p := first; p < first+n; p++ {
		ar.spans[p].Store(s)
	}
	return s
}

// uncarve makes the pages of a span without blocks free again.
func (ar *arena) uncarve(s *span) {
	first := s.off / pageSize
	n := slabPages[s.class]
	for p := first; p < first+n; p++ {
		ar.used[p/64] &^= 1 << (p % 64)
		ar.spans[p].Store(nil)
	}
	ar.freePages += n
}

// idle reports whether no span is carved from a shared arena.
func (ar *arena) idle() bool { return ar.freePages == len(ar.spans) }
