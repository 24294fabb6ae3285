package memory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/broadhead-go/broadhead/gpu"
)

// taken is a block just handed out.
type taken struct {
	block
	dirty bool // its bytes may be other than zero
	used  bool // it was freed before, and not written since
}

// take hands out a block of at least n bytes.
func (a *Allocator) take(n int) (taken, error) {
	if n > a.maxArena {
		return taken{}, a.noMemory(n, errTooLarge)
	}
	c := classOf(n)
	a.mu.Lock()
	t, ok := a.takeFree(c, n)
	a.mu.Unlock()
	if ok {
		return t, nil
	}
	return a.takeNew(c, n)
}

// takeFree hands out a block that needs no new arena. It holds a.mu.
func (a *Allocator) takeFree(c, n int) (t taken, ok bool) {
	s := a.classes[c].head
	for s != nil && s.size < n { // blocks of their own arena may be smaller than their class
		s = s.next
	}
	if s == nil {
		if s = a.carve(c); s == nil {
			return t, false
		}
	}
	return a.takeFrom(s), true
}

// carve makes a span of a pooled class from free pages. It holds a.mu.
func (a *Allocator) carve(c int) *span {
	if c >= pooledClasses || a.closed {
		return nil
	}
	n := slabPages[c]
	for _, ar := range a.pool {
		if first := ar.findPages(n); first >= 0 {
			s := ar.carve(c, first, n)
			a.classes[c].pushFront(s)
			return s
		}
	}
	return nil
}

// takeFrom hands out a block of a listed span. It holds a.mu.
func (a *Allocator) takeFrom(s *span) taken {
	if s.ar.only != nil && s.handed > 0 {
		i := len(a.cachedRuns) - 1 // likely among the last
		for a.cachedRuns[i] != s {
			i--
		}
		a.cachedRuns = slices.Delete(a.cachedRuns, i, i+1)
	}
	slot, dirty, used := s.pop()
	if s.full() {
		a.classes[s.class].remove(s)
	}
	t := taken{block{span: s, slot: slot}, dirty, used}
	word := t.word()
	w := word.Load() | liveBit
	word.Store(w)
	t.gen = w >> genShift

	a.stats.Active += int64(s.size)
	a.stats.Peak = max(a.stats.Peak, a.stats.Active+a.stats.Parked)
	a.stats.Blocks++
	a.stats.Allocations++
	return t
}

// takeNew makes an arena and hands out a block of it. When there is no memory it empties the cache and tries once
// more, and again if collecting garbage then freed buffers.
func (a *Allocator) takeNew(c, n int) (taken, error) {
	a.collector.consider()
	if c < pooledClasses {
		a.growing.Lock()
		defer a.growing.Unlock()
	}
	for try := 0; ; try++ {
		t, err := a.tryNew(c, n, try > 0)
		if err == nil || !errors.Is(err, gpu.ErrOutOfMemory) {
			return t, err
		}
		if try == 0 {
			a.Trim()
		} else if try > 1 || !a.collector.collect() {
			return t, a.noMemory(n, err)
		} else {
			a.Trim()
		}
	}
}

// tryNew makes one arena, as small as serves if tight.
func (a *Allocator) tryNew(c, n int, tight bool) (taken, error) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return taken{}, errClosed
	}
	if c < pooledClasses {
		a.scavenge()
	}
	if t, ok := a.takeFree(c, n); ok { // another goroutine grew the pool or freed a block meanwhile
		a.mu.Unlock()
		return t, nil
	}
	size := a.arenaSize(c, n, tight)
	if size > 0 {
		a.reserved += int64(size)
	}
	a.mu.Unlock()
	if size == 0 {
		return taken{}, errLimit
	}

	ar, err := a.newArena(size)
	if err != nil {
		a.mu.Lock()
		a.reserved -= int64(size)
		a.mu.Unlock()
		return taken{}, err
	}
	if c < pooledClasses {
		ar.divide()
	} else {
		ar.only = newSpan(ar, c, 0, size, 1, !ar.fresh)
	}
	register(ar)

	a.mu.Lock()
	if a.closed { // meanwhile
		a.reserved -= int64(size)
		a.mu.Unlock()
		discard([]*arena{ar})
		return taken{}, errClosed
	}
	defer a.mu.Unlock()
	a.stats.Arenas++
	a.stats.ArenaAllocations++
	if ar.only != nil {
		a.classes[c].pushFront(ar.only)
		return a.takeFrom(ar.only), nil
	}
	a.pool = append(a.pool, ar)
	a.pooled += int64(size)
	t, _ := a.takeFree(c, n) // arenaSize left room for it
	return t, nil
}

// arenaSize returns how large the arena for a block of class c and n bytes is to be, 0 if the limit has no room. It
// holds a.mu.
func (a *Allocator) arenaSize(c, n int, tight bool) int {
	room := a.maxArena
	if a.limit > 0 {
		room = int(max(0, min(int64(room), a.limit-a.reserved)))
	}
	if c < pooledClasses {
		least, want := slabPages[c]*pageSize, poolTight
		if !tight {
			for want = poolMin; want < poolMax && int64(want) < a.pooled; {
				want *= 2
			}
		}
		if size := max(least, min(want, room)) &^ (pageSize - 1); size <= room {
			return size
		}
		return 0
	}
	if size := classSize(c); size <= room && !tight {
		return size
	}
	if size := roundUp(n, pageSize); size <= room {
		return size
	}
	if size := padded(n); size <= room {
		return size
	}
	return 0
}

// free ends the use of a block: it goes back to the pool, or is parked if commands retain it. It returns false if
// that use has ended before.
func (a *Allocator) free(b block) bool {
	a.mu.Lock()
	word := b.word()
	for {
		w := word.Load()
		if w>>genShift != b.gen || w&liveBit == 0 {
			a.mu.Unlock()
			return false
		}
		if w&refMask == 0 {
			if word.CompareAndSwap(w, (b.gen+1)<<genShift) {
				a.stats.Active -= int64(b.span.size)
				a.stats.Blocks--
				break
			}
		} else if word.CompareAndSwap(w, w&^liveBit) {
			a.stats.Active -= int64(b.span.size)
			a.stats.Parked += int64(b.span.size)
			a.stats.Blocks--
			a.stats.ParkedBlocks++
			a.mu.Unlock()
			return true
		}
	}
	a.putBack(b)
	return true
}

// unpark returns a parked block, retained once, to the pool. It returns false if the block is not in that state.
func (a *Allocator) unpark(b block) bool {
	a.mu.Lock()
	if !b.word().CompareAndSwap(b.gen<<genShift|1, (b.gen+1)<<genShift) {
		a.mu.Unlock()
		return false
	}
	a.stats.Parked -= int64(b.span.size)
	a.stats.ParkedBlocks--
	a.putBack(b)
	return true
}

// putBack makes a block free, evicts what exceeds the cache limit, and unlocks a.mu, which it is called with.
func (a *Allocator) putBack(b block) {
	s := b.span
	list := &a.classes[s.class]
	if poisoned {
		poison(b.bytes(s.size))
	}
	s.push(b.slot)
	switch {
	case len(s.state) == 1: // the latest is the one still in the processor's cache
		list.pushFront(s)
		if s.ar.only != nil {
			a.cachedRuns = append(a.cachedRuns, s)
		}
	case s.live == 0:
		if s.linked {
			list.remove(s)
		}
		list.pushBack(s)
	case !s.linked:
		list.pushFront(s)
	}
	var gone []*arena
	if cached := a.cached(); cached <= a.cacheLimit {
		a.evictAt = a.cacheLimit
	} else if cached > a.evictAt {
		gone = a.evict(a.cacheLimit)
		if cached = a.cached(); cached > a.cacheLimit {
			a.evictAt = cached + poolMin // it lies between blocks in use: look again when there is much more of it
		}
	}
	a.mu.Unlock()
	discard(gone)
}

// cached is the bytes that are in no block. It holds a.mu.
func (a *Allocator) cached() int64 { return a.reserved - a.stats.Active - a.stats.Parked }

// scavenge makes the pages of spans without blocks free for other classes. It holds a.mu.
func (a *Allocator) scavenge() {
	for c := range pooledClasses {
		list := &a.classes[c]
		for s := list.tail; s != nil && s.live == 0; s = list.tail {
			list.remove(s)
			s.ar.uncarve(s)
		}
	}
}

// evict takes idle arenas out until at most keep bytes are cached: those of one block in the order in which they were
// freed, then shared ones. It holds a.mu; the caller discards them after unlocking.
func (a *Allocator) evict(keep int64) (gone []*arena) {
	n := 0
	for ; n < len(a.cachedRuns) && a.cached() > keep; n++ {
		s := a.cachedRuns[n]
		a.classes[s.class].remove(s)
		gone = append(gone, s.ar)
		a.forget(s.ar)
	}
	a.cachedRuns = slices.Delete(a.cachedRuns, 0, n)
	if a.cached() <= keep {
		return gone
	}
	a.scavenge()
	a.pool = slices.DeleteFunc(a.pool, func(ar *arena) bool {
		if !ar.idle() || a.cached() <= keep {
			return false
		}
		gone = append(gone, ar)
		a.pooled -= int64(ar.size)
		a.forget(ar)
		return true
	})
	return gone
}

func (a *Allocator) forget(ar *arena) {
	a.reserved -= int64(ar.size)
	a.stats.Arenas--
	a.stats.Evictions++
}

// discard gives evicted arenas back.
func discard(gone []*arena) {
	unregister(gone)
	for _, ar := range gone {
		ar.release()
	}
}

var (
	errLimit    = fmt.Errorf("the limit is reached: %w", gpu.ErrOutOfMemory)
	errClosed   = fmt.Errorf("memory: allocator: %w", gpu.ErrClosed)
	errTooLarge = fmt.Errorf("larger than a buffer can be: %w", gpu.ErrOutOfMemory)
)

// noMemory adds to err, which says why n bytes cannot be had, what the allocator holds.
func (a *Allocator) noMemory(n int, err error) error {
	s := a.Stats()
	return fmt.Errorf("memory: cannot allocate %d bytes (active %d, parked %d, cached %d, limit %d): %w",
		n, s.Active, s.Parked, s.Cached, s.Limit, err)
}
