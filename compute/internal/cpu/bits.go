package cpu

import (
	"encoding/binary"
	"math/bits"
)

// Bitmap is a view of bits in Arrow's order: row 0 is bit Off of Data, least
// significant bit first. A nil Data stands for a bitmap with every bit set,
// which is what an absent validity bitmap means.
type Bitmap struct {
	Data []byte
	Off  int
}

// All reports whether the bitmap is the absent one, every bit set.
func (b Bitmap) All() bool { return b.Data == nil }

// Bit reports row i.
func (b Bitmap) Bit(i int) bool {
	if b.Data == nil {
		return true
	}
	i += b.Off
	return b.Data[i>>3]>>(i&7)&1 != 0
}

// Slice returns the bitmap whose row 0 is row i of b.
func (b Bitmap) Slice(i int) Bitmap {
	if b.Data == nil {
		return b
	}
	return Bitmap{Data: b.Data, Off: b.Off + i}
}

// Word returns the 64 rows from row i, row i in the lowest bit. Bits of rows
// at or past n, the number of rows in the bitmap, are zero, and bytes that
// hold none of the n rows are not read.
func (b Bitmap) Word(i, n int) uint64 {
	if i >= n {
		return 0
	}
	keep := lowBits(n - i)
	if b.Data == nil {
		return keep
	}
	i += b.Off
	return loadBits(b.Data[i>>3:], uint(i)&7) & keep
}

// Count returns the number of set bits among the first n rows.
func (b Bitmap) Count(n int) int {
	if b.Data == nil {
		return n
	}
	count, i := simdCount(b, n)
	if b.Off&7 == 0 && n >= 64 {
		// Four counters keep the population counts independent.
		var c0, c1, c2, c3 int
		data := b.Data[b.Off>>3:]
		for ; i+256 <= n; i += 256 {
			d := (*[32]byte)(data[i>>3:])
			c0 += bits.OnesCount64(binary.LittleEndian.Uint64(d[0:]))
			c1 += bits.OnesCount64(binary.LittleEndian.Uint64(d[8:]))
			c2 += bits.OnesCount64(binary.LittleEndian.Uint64(d[16:]))
			c3 += bits.OnesCount64(binary.LittleEndian.Uint64(d[24:]))
		}
		count += c0 + c1 + c2 + c3
	}
	for ; i < n; i += 64 {
		count += bits.OnesCount64(b.Word(i, n))
	}
	return count
}

// CountValid returns the number of valid rows among n.
func CountValid(valid Bitmap, n int) int { return valid.Count(n) }

// lowBits returns a word with its n lowest bits set, all of them from 64 on.
func lowBits(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<uint(n) - 1
}

// loadBits returns up to 64 bits of d from bit shift (0..7) of its first byte;
// bits past the end of d are zero.
func loadBits(d []byte, shift uint) uint64 {
	if len(d) >= 9 {
		// The ninth byte falls out of the word when shift is 0.
		return binary.LittleEndian.Uint64(d)>>shift | uint64(d[8])<<(64-shift)
	}
	var w uint64
	for i := min(len(d), 8) - 1; i >= 0; i-- {
		w = w<<8 | uint64(d[i])
	}
	return w >> shift
}

// PutWord stores w as rows i to i+63 of dst, a bitmap of n rows that starts at
// bit 0; i is a multiple of 64. Only the bytes that hold rows are written, and
// the padding bits of the last are zero.
func PutWord(dst []byte, i, n int, w uint64) {
	d := dst[i>>3:]
	if n-i >= 64 {
		binary.LittleEndian.PutUint64(d, w)
		return
	}
	w &= lowBits(n - i)
	for k := 0; k < n-i; k += 8 {
		d[k>>3] = byte(w >> uint(k))
	}
}

// FillPadding zeroes everything in dst after bit n.
func FillPadding(dst []byte, n int) {
	if n&7 != 0 && n>>3 < len(dst) {
		dst[n>>3] &= byte(lowBits(n & 7))
	}
	if end := (n + 7) >> 3; end < len(dst) {
		clear(dst[end:])
	}
}

// MapBits writes f of every word of a and b to dst, a bitmap of n rows that
// starts at bit 0. All (n+7)/8 bytes are written; the padding bits of the last
// are zero. dst may be the memory of a or b when that one starts at bit 0.
func MapBits(dst []byte, a, b Bitmap, n int, f func(a, b uint64) uint64) {
	i := 0
	if a.Data != nil && b.Data != nil {
		x, y, d := a.Data[a.Off>>3:], b.Data[b.Off>>3:], dst
		s, t := uint(a.Off)&7, uint(b.Off)&7
		for ; i+64 <= n && len(x) >= 9 && len(y) >= 9 && len(d) >= 8; i += 64 {
			v := binary.LittleEndian.Uint64(x)>>s | uint64(x[8])<<(64-s)
			w := binary.LittleEndian.Uint64(y)>>t | uint64(y[8])<<(64-t)
			binary.LittleEndian.PutUint64(d, f(v, w))
			x, y, d = x[8:], y[8:], d[8:]
		}
	}
	for ; i < n; i += 64 {
		PutWord(dst, i, n, f(a.Word(i, n), b.Word(i, n)))
	}
}

// CopyBits writes the first n rows of src to dst as MapBits does.
func CopyBits(dst []byte, src Bitmap, n int) {
	i := 0
	switch {
	case src.Data == nil:
		for ; i+64 <= n; i += 64 {
			binary.LittleEndian.PutUint64(dst[i>>3:], ^uint64(0))
		}
	case src.Off&7 == 0:
		i = n &^ 63
		copy(dst[:i>>3], src.Data[src.Off>>3:])
	default:
		dst, src, _, n = simdBits(bitCopy, dst, src, src, n)
	}
	for ; i < n; i += 64 {
		PutWord(dst, i, n, src.Word(i, n))
	}
}

// NotBits writes the complement of the first n rows of a.
func NotBits(dst []byte, a Bitmap, n int) {
	dst, a, _, n = simdBits(bitNot, dst, a, a, n)
	i := 0
	if a.Data != nil && a.Off&7 == 0 {
		i = n &^ 63
		d, x := dst[:i>>3], a.Data[a.Off>>3:][:i>>3]
		for len(d) >= 8 && len(x) >= 8 {
			binary.LittleEndian.PutUint64(d, ^binary.LittleEndian.Uint64(x))
			d, x = d[8:], x[8:]
		}
	}
	for ; i < n; i += 64 {
		PutWord(dst, i, n, ^a.Word(i, n))
	}
}

// AndBits writes a AND b as MapBits does.
func AndBits(dst []byte, a, b Bitmap, n int) {
	dst, a, b, n = simdBits(bitAnd, dst, a, b, n)
	d, x, y, done := wholeBytes(dst, a, b, n)
	for len(d) >= 8 && len(x) >= 8 && len(y) >= 8 {
		binary.LittleEndian.PutUint64(d, binary.LittleEndian.Uint64(x)&binary.LittleEndian.Uint64(y))
		d, x, y = d[8:], x[8:], y[8:]
	}
	MapBits(dst[done>>3:], a.Slice(done), b.Slice(done), n-done, func(a, b uint64) uint64 { return a & b })
}

// OrBits writes a OR b as MapBits does.
func OrBits(dst []byte, a, b Bitmap, n int) {
	dst, a, b, n = simdBits(bitOr, dst, a, b, n)
	d, x, y, done := wholeBytes(dst, a, b, n)
	for len(d) >= 8 && len(x) >= 8 && len(y) >= 8 {
		binary.LittleEndian.PutUint64(d, binary.LittleEndian.Uint64(x)|binary.LittleEndian.Uint64(y))
		d, x, y = d[8:], x[8:], y[8:]
	}
	MapBits(dst[done>>3:], a.Slice(done), b.Slice(done), n-done, func(a, b uint64) uint64 { return a | b })
}

// XorBits writes a XOR b as MapBits does.
func XorBits(dst []byte, a, b Bitmap, n int) {
	dst, a, b, n = simdBits(bitXor, dst, a, b, n)
	d, x, y, done := wholeBytes(dst, a, b, n)
	for len(d) >= 8 && len(x) >= 8 && len(y) >= 8 {
		binary.LittleEndian.PutUint64(d, binary.LittleEndian.Uint64(x)^binary.LittleEndian.Uint64(y))
		d, x, y = d[8:], x[8:], y[8:]
	}
	MapBits(dst[done>>3:], a.Slice(done), b.Slice(done), n-done, func(a, b uint64) uint64 { return a ^ b })
}

// AndNotBits writes a AND NOT b as MapBits does.
func AndNotBits(dst []byte, a, b Bitmap, n int) {
	dst, a, b, n = simdBits(bitAndNot, dst, a, b, n)
	d, x, y, done := wholeBytes(dst, a, b, n)
	for len(d) >= 8 && len(x) >= 8 && len(y) >= 8 {
		binary.LittleEndian.PutUint64(d, binary.LittleEndian.Uint64(x)&^binary.LittleEndian.Uint64(y))
		d, x, y = d[8:], x[8:], y[8:]
	}
	MapBits(dst[done>>3:], a.Slice(done), b.Slice(done), n-done, func(a, b uint64) uint64 { return a &^ b })
}

// The functions of bitmaps that there is assembly for.
const (
	bitAnd = iota
	bitOr
	bitXor
	bitAndNot
	bitNot
	bitCopy
	bitOps
)

// wholeBytes returns the bytes of the whole 64-row words of dst, a and b and
// their number of rows when both inputs start on a byte, else nothing: then
// every word needs shifting.
func wholeBytes(dst []byte, a, b Bitmap, n int) (d, x, y []byte, rows int) {
	if a.Data == nil || b.Data == nil || (a.Off|b.Off)&7 != 0 {
		return nil, nil, nil, 0
	}
	rows = n &^ 63
	return dst[:rows>>3], a.Data[a.Off>>3:][:rows>>3], b.Data[b.Off>>3:][:rows>>3], rows
}

// Words reads n rows from row i on as whole words; bits past them are zero.
func (b Bitmap) Words(dst []uint64, i, n int) {
	k := 0
	if b.Data == nil {
		for ; k < n>>6; k++ {
			dst[k] = ^uint64(0)
		}
	} else {
		off := b.Off + i
		for d, s := b.Data[min(off>>3, len(b.Data)):], uint(off)&7; k < n>>6 && len(d) >= 9; k++ {
			dst[k] = binary.LittleEndian.Uint64(d)>>s | uint64(d[8])<<(64-s)
			d = d[8:]
		}
	}
	for ; k<<6 < n; k++ {
		dst[k] = b.Word(i+k<<6, i+n)
	}
}

// PutWords stores words as the first n rows of dst as PutWord does.
func PutWords(dst []byte, words []uint64, n int) {
	d := dst
	for _, w := range words[:n>>6] {
		binary.LittleEndian.PutUint64(d, w)
		d = d[8:]
	}
	if n&63 != 0 {
		PutWord(dst, n&^63, n, words[n>>6])
	}
}
