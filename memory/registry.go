package memory

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// registry is every arena of the process, in order of address. Readers take the slice as it is; writers copy it.
var registry struct {
	arenas atomic.Pointer[[]*arena]
	write  sync.Mutex
}

func register(ar *arena) {
	registry.write.Lock()
	defer registry.write.Unlock()
	var old []*arena
	if p := registry.arenas.Load(); p != nil {
		old = *p
	}
	at, _ := slices.BinarySearchFunc(old, ar.base, func(x *arena, base uintptr) int {
		if x.base < base {
			return -1
		}
		return 1
	})
	list := make([]*arena, 0, len(old)+1)
	list = append(append(append(list, old[:at]...), ar), old[at:]...)
	registry.arenas.Store(&list)
}

func unregister(gone []*arena) {
	if len(gone) == 0 {
		return
	}
	registry.write.Lock()
	defer registry.write.Unlock()
	list := slices.DeleteFunc(slices.Clone(*registry.arenas.Load()), func(ar *arena) bool {
		return slices.Contains(gone, ar)
	})
	registry.arenas.Store(&list)
}

// arenaOf returns the arena that holds the address, nil if none does.
func arenaOf(addr uintptr) *arena {
	p := registry.arenas.Load()
	if p == nil {
		return nil
	}
	list := *p
	lo, hi := 0, len(list) // list[:lo] start at or below addr, list[hi:] above it
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); list[mid].base <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return nil
	}
	if ar := list[lo-1]; addr-ar.base < uintptr(ar.size) {
		return ar
	}
	return nil
}

// find returns the block in use that holds b's first byte, and that byte's offset in the block.
func find(b []byte) (blk block, off int, ok bool) {
	if cap(b) == 0 {
		return block{}, 0, false
	}
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	ar := arenaOf(addr)
	if ar == nil {
		return block{}, 0, false
	}
	at := int(addr - ar.base)
	s := ar.spanAt(at)
	if s == nil {
		return block{}, 0, false
	}
	off, slot := at-s.off, 0
	if len(s.state) > 1 {
		slot = int(uint32(off) / uint32(s.size)) // a span of several blocks is small
		off -= slot * s.size
	}
	if slot >= len(s.state) || off >= s.size {
		return block{}, 0, false // the unused end of the last page
	}
	word := s.state[slot].Load()
	if word&liveBit == 0 {
		return block{}, 0, false
	}
	return block{s, slot, word >> genShift}, off, true
}
