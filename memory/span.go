package memory

import "sync/atomic"

// span is a row of equal blocks in an arena. The state words are read and changed without a lock; the rest of the
// mutable part is guarded by the allocator's.
type span struct {
	ar    *arena
	class int
	off   int // of the first block in the arena
	size  int // of a block
	state []atomic.Uint64
	dirty bool // blocks that were never handed out may hold something

	free       []uint16 // blocks that were handed out and came back, the latest last
	handed     int      // blocks from here on were never handed out
	live       int
	prev, next *span // in the list of its class, while it has a free block
	linked     bool
}

// A state word holds a block's generation, whether it is allocated, and how many commands retain it. The generation
// grows by one when the block goes back to the pool, which makes every earlier Ref stale.
const (
	refMask  = 1<<23 - 1
	liveBit  = 1 << 23
	genShift = 24
)

func newSpan(ar *arena, class, off, size, n int, dirty bool) *span {
	return &span{ar: ar, class: class, off: off, size: size, dirty: dirty,
		state: make([]atomic.Uint64, n), free: make([]uint16, 0, n)}
}

func (s *span) full() bool { return s.live == len(s.state) }

// pop hands out a block and says whether its bytes may be other than zero, and whether it was used before.
func (s *span) pop() (slot int, dirty, used bool) {
	s.live++
	if k := len(s.free); k > 0 {
		slot = int(s.free[k-1])
		s.free = s.free[:k-1]
		return slot, true, true
	}
	slot = s.handed
	s.handed++
	return slot, s.dirty, false
}

// push takes a block back.
func (s *span) push(slot int) {
	s.live--
	s.free = append(s.free, uint16(slot))
}

// spanList is the spans of a class that have a free block: those with blocks in use first, so that the others empty.
type spanList struct{ head, tail *span }

func (l *spanList) pushFront(s *span) {
	s.linked, s.prev, s.next = true, nil, l.head
	if l.head != nil {
		l.head.prev = s
	} else {
		l.tail = s
	}
	l.head = s
}

func (l *spanList) pushBack(s *span) {
	s.linked, s.prev, s.next = true, l.tail, nil
	if l.tail != nil {
		l.tail.next = s
	} else {
		l.head = s
	}
	l.tail = s
}

func (l *spanList) remove(s *span) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		l.head = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		l.tail = s.prev
	}
	s.linked, s.prev, s.next = false, nil, nil
}

// block is one use of one block of a span.
type block struct {
	span *span
	slot int
	gen  uint64
}

// offset is that of the block's first byte in its arena.
func (b block) offset() int { return b.span.off + b.slot*b.span.size }

// bytes returns the first n bytes. The capacity is no larger: some of arrow-go's builders take it for the length.
func (b block) bytes(n int) []byte {
	at := b.offset()
	return b.span.ar.mem[at : at+n : at+n]
}

func (b block) word() *atomic.Uint64 { return &b.span.state[b.slot] }
