package cpu

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"unsafe"
)

// Bits copies the kept rows of the bitmap src to dst, a bitmap of Count rows
// that starts at bit 0. Its bytes are all written, and the padding bits of the
// last are zero.
func (s *Selection) Bits(dst []byte, src Bitmap, par int) { s.compact(dst, par, src, Bitmap{}) }

// Validity writes the validity of filtered values, given theirs before, as
// Bits does, and returns the number of nulls: rows that were null and rows
// that are kept because the mask was null.
func (s *Selection) Validity(dst []byte, valid Bitmap, par int) (nulls int) {
	s.compact(dst, par, valid, s.mask)
	return s.Count() - Bitmap{Data: dst}.Count(s.Count())
}

// edge holds the bits of a morsel in the two output bytes that it may share
// with its neighbours.
type edge struct{ head, tail byte }

// compact writes the kept bits of the intersection of two bitmaps. Morsels
// meet inside output bytes: each stores only the bytes that it fills alone,
// and the shared ones are put together at the end.
func (s *Selection) compact(dst []byte, par int, a, b Bitmap) {
	if len(s.starts) == 2 {
		if e := s.compactMorsel(dst, 0, 0, s.n, a, b); s.Count()&7 != 0 {
			dst[s.Count()>>3] = e.tail
		}
		return
	}
	s.compactMorsels(dst, par, a, b)
}

func (s *Selection) compactMorsels(dst []byte, par int, a, b Bitmap) {
	edges := make([]edge, s.Parts())
	s.eachMorsel(par, func(m, start, end int) { edges[m] = s.compactMorsel(dst, m, start, end, a, b) })
	var pending byte // of the byte in which the next morsel starts
	for m, e := range edges {
		first, last := s.starts[m], s.starts[m+1]
		if first>>3 == last>>3 {
			pending |= e.tail
			continue
		}
		if first&7 != 0 {
			dst[first>>3] = pending | e.head
		}
		pending = e.tail
	}
	if n := s.Count(); n&7 != 0 {
		dst[n>>3] = pending
	}
}

// compactor is where a morsel's bits are put together.
type compactor struct{ bits, kept [selectMorsel/64 + 1]uint64 }

var compactors = sync.Pool{New: func() any { return new(compactor) }}

// compactMorsel writes the bytes that a morsel fills alone.
func (s *Selection) compactMorsel(dst []byte, m, start, end int, a, b Bitmap) edge {
	first, last := s.starts[m], s.starts[m+1]
	if first == last {
		return edge{}
	}
	c := compactors.Get().(*compactor)
	defer compactors.Put(c)
	rows, words := end-start, (end-start+63)>>6
	bits := unsafe.Slice((*byte)(unsafe.Pointer(&c.bits)), 8*words)
	switch a, b = a.Slice(start), b.Slice(start); {
	case b.All():
		CopyBits(bits, a, rows)
	case a.All():
		CopyBits(bits, b, rows)
	default:
		AndBits(bits, a, b, rows)
	}
	FillPadding(bits, rows)
	held := first & 7
	c.kept[0] = 0
	compactWords(c.kept[:], c.bits[:words], s.words[start>>3:], held)
	kept := unsafe.Slice((*byte)(unsafe.Pointer(&c.kept)), 8*len(c.kept))
	whole := (held + last - first) >> 3 // bytes, of which the first may be shared
	e := edge{head: kept[0], tail: kept[whole]}
	from := 0
	if held != 0 {
		from = 1
	}
	if whole > from {
		copy(dst[first>>3+from:], kept[from:whole])
	}
	return e
}

// compactWords appends the bits of src that keep selects to dst, of whose
// first word the low held bits are there and the others zero. A word more of
// dst than is filled may be written.
func compactWords(dst, src []uint64, keep []byte, held int) {
	if simdCompact(dst, src, keep, held) {
		return
	}
	word, at := dst[0], 0
	for i, w := range src {
		k := binary.LittleEndian.Uint64(keep[8*i:])
		if k == 0 {
			continue
		}
		w = compress(w, k)
		word |= w << uint(held)
		before := held
		if held += bits.OnesCount64(k); held < 64 {
			continue
		}
		dst[at] = word
		at++
		held -= 64
		word = w >> 1 >> uint(63-before)
	}
	dst[at] = word
}

// compress moves the bits of x that mask selects to the low end.
func compress(x, mask uint64) uint64 {
	n := bits.OnesCount64(mask)
	x &= mask
	switch {
	case n == 64 || x == 0:
		return x
	case x == mask:
		return lowBits(n)
	case n <= 10:
		var out uint64
		for i := range uint(n) {
			out |= x >> uint(bits.TrailingZeros64(mask)&63) & 1 << (i & 63)
			mask &= mask - 1
		}
		return out
	}
	// Bit by bit of the distance that each selected bit has to move: the
	// parallel suffix method (Hacker's Delight, 2nd edition, section 7-4).
	right := ^mask << 1
	for shift := uint(1); shift < 64; shift <<= 1 {
		odd := right ^ right<<1
		odd ^= odd << 2
		odd ^= odd << 4
		odd ^= odd << 8
		odd ^= odd << 16
		odd ^= odd << 32
		move := odd & mask
		mask = mask ^ move | move>>shift
		t := x & move
		x = x ^ t | t>>shift
		right &^= odd
	}
	return x
}
