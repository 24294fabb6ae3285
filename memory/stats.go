package memory

import (
	"fmt"
	"slices"
	"strings"
)

// Stats is what an allocator holds, in bytes of whole blocks where nothing else is said.
type Stats struct {
	Active   int64 // in blocks that are allocated
	Parked   int64 // in blocks that are freed but retained by commands
	Cached   int64 // in arenas but in no block: kept for later requests
	Reserved int64 // of all arenas: Active + Parked + Cached
	Peak     int64 // the most that Active + Parked has been
	Limit    int64 // of Reserved; 0 is none

	Blocks       int // that are allocated
	ParkedBlocks int
	Arenas       int // held now: device buffers or mappings

	// Since New:
	Allocations      int64 // blocks handed out
	ArenaAllocations int64 // arenas taken from the device or the system
	Evictions        int64 // arenas given back
	BadFrees         int64 // Free, Reallocate or Release of memory that was no block in use
}

// Stats returns a consistent picture.
func (a *Allocator) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	s.Cached, s.Reserved, s.Limit, s.BadFrees = a.cached(), a.reserved, a.limit, a.badFrees.Load()
	return s
}

// SetLimit bounds Reserved, the bytes of all arenas; 0 or less is no limit. Requests beyond it fail with
// gpu.ErrOutOfMemory once the cache is empty. Cached memory above a new limit is given back at once; blocks in use
// stay as they are.
func (a *Allocator) SetLimit(bytes int64) {
	a.mu.Lock()
	a.limit = max(bytes, 0)
	var gone []*arena
	if over := a.reserved - a.limit; a.limit > 0 && over > 0 {
		gone = a.evict(max(0, a.cached()-over))
	}
	a.mu.Unlock()
	discard(gone)
}

// Trim gives every arena without blocks back to the device or the system.
func (a *Allocator) Trim() {
	a.mu.Lock()
	gone := a.evict(0)
	a.mu.Unlock()
	discard(gone)
}

// Close gives all memory back. Later allocations fail with gpu.ErrClosed. While blocks are allocated or parked it
// changes nothing but trims, and returns an error that says how many blocks there are and how large: the caller may
// free them and close again. The device stays open.
func (a *Allocator) Close() error {
	a.mu.Lock()
	gone := a.evict(0)
	err := a.inUse()
	a.closed = err == nil
	a.mu.Unlock()
	discard(gone)
	return err
}

// inUse describes the blocks in use; nil if there are none. It holds a.mu.
func (a *Allocator) inUse() error {
	s := a.stats
	if s.Blocks+s.ParkedBlocks == 0 {
		return nil
	}
	var what strings.Builder
	if s.Blocks > 0 {
		fmt.Fprintf(&what, "%d blocks (%d bytes) are allocated", s.Blocks, s.Active)
	}
	if s.ParkedBlocks > 0 {
		if what.Len() > 0 {
			what.WriteString(" and ")
		}
		fmt.Fprintf(&what, "%d (%d bytes) retained by commands", s.ParkedBlocks, s.Parked)
	}
	return fmt.Errorf("memory: close: %s%s", what.String(), a.sizesInUse())
}

// sizesInUse lists the largest of the shared blocks in use by size. It holds a.mu.
func (a *Allocator) sizesInUse() string {
	count := map[int]int{}
	for _, ar := range a.pool {
		for p := 0; p < len(ar.spans); {
			s := ar.spans[p].Load()
			if s == nil {
				p++
				continue
			}
			if s.live > 0 {
				count[s.size] += s.live
			}
			p += slabPages[s.class]
		}
	}
	sizes := make([]int, 0, len(count))
	for size := range count {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	var b strings.Builder
	for i, size := range sizes[:min(len(sizes), 4)] {
		sep := ", "
		if i == 0 {
			sep = "; of up to 2 MiB: "
		}
		fmt.Fprintf(&b, "%s%d of %d bytes", sep, count[size], size)
	}
	return b.String()
}
