package cpu

import (
	"encoding/binary"
	"math/bits"
)

// Bits copies the kept rows of the bitmap src to dst, a bitmap of Count rows
// that starts at bit 0. Its bytes are all written, and the padding bits of the
// last are zero.
func (s *Selection) Bits(dst []byte, src Bitmap, par int) {
	s.compact(dst, par, func(i int) uint64 { return src.Word(i, s.n) })
}

// Validity writes the validity of filtered values, given theirs before, as
// Bits does, and returns the number of nulls: rows that were null and rows
// that are kept because the mask was null.
func (s *Selection) Validity(dst []byte, valid Bitmap, par int) (nulls int) {
	if valid.All() {
		s.Bits(dst, s.mask, par)
	} else {
		s.compact(dst, par, func(i int) uint64 { return valid.Word(i, s.n) & s.mask.Word(i, s.n) })
	}
	return s.Count() - Bitmap{Data: dst}.Count(s.Count())
}

// edge holds the bits of a morsel in the two output bytes that it may share
// with its neighbours.
type edge struct{ head, tail byte }

// compact writes the kept bits of the words that load returns. Morsels meet
// inside output bytes: each stores only the bytes that it fills alone, and the
// shared ones are put together at the end.
func (s *Selection) compact(dst []byte, par int, load func(i int) uint64) {
	edges := make([]edge, len(s.starts)-1)
	s.eachMorsel(par, func(m, start, end int) {
		first := s.starts[m]
		if first == s.starts[m+1] {
			return
		}
		w := bitWriter{dst: dst[first>>3:], held: uint(first & 7), shared: first&7 != 0}
		var kept extracted
		for i := start; i < end; i += extractRows {
			stop := min(i+extractRows, end)
			for k := i; k < stop; k += 64 {
				kept[(k-i)>>6] = load(k)
			}
			extract(kept[:(stop-i+63)>>6], s.words[i>>3:])
			for k := i; k < stop; k += 64 {
				if keep := s.word(k); keep != 0 {
					w.write(kept[(k-i)>>6], uint(bits.OnesCount64(keep)))
				}
			}
		}
		edges[m] = w.flush()
	})
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

// bitWriter appends bits to bytes.
type bitWriter struct {
	dst    []byte
	word   uint64
	held   uint // bits in word, below 64
	shared bool // the first byte of dst is not ours to store
	head   byte // what belongs into a shared first byte
}

// write appends the n low bits of b, whose others are zero; n is 1 to 64.
func (w *bitWriter) write(b uint64, n uint) {
	w.word |= b << w.held
	if w.held+n < 64 {
		w.held += n
		return
	}
	if w.shared {
		w.store(8)
	} else {
		binary.LittleEndian.PutUint64(w.dst, w.word)
	}
	w.dst = w.dst[8:]
	w.word = b >> (64 - w.held)
	w.held += n - 64
}

// store writes the n low bytes of word, but keeps a shared one back.
func (w *bitWriter) store(n uint) {
	for i := range n {
		if b := byte(w.word >> (8 * i)); i == 0 && w.shared {
			w.head, w.shared = b, false
		} else {
			w.dst[i] = b
		}
	}
}

// flush stores the whole bytes that are left and returns the shared ones.
func (w *bitWriter) flush() edge {
	w.store(w.held >> 3)
	return edge{head: w.head, tail: byte(w.word >> (w.held &^ 7))}
}

// extractRows are extracted together.
const extractRows = 1024

type extracted [extractRows / 64]uint64

// extract moves the bits of each word that keep selects to its low end.
func extract(words []uint64, keep []byte) {
	for i := simdExtract(words, keep); i < len(words); i++ {
		words[i] = compress(words[i], binary.LittleEndian.Uint64(keep[8*i:]))
	}
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
