package strs

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// BlockRows is how many rows Equal and Compare take at most.
const BlockRows = 1024

// Scratch is the memory of comparisons, of one goroutine at a time.
type Scratch struct {
	small [2][BlockRows]int32 // lengths
	large [2][BlockRows]int64
}

// Equal writes the bits of rows [i, i+n) of a that equal those from row k of b on, or row k itself where one is set. It
// reports false where a row lies outside of its column's memory.
func (s *Scratch) Equal(dst []uint64, a *Column, i int, b *Column, k, n int, one bool) bool {
	switch {
	case one && a.layout == smallOffsets:
		return equalTo(dst, s.small[0][:], a.small[i:i+n+1], a.data, b.At(k))
	case one && a.layout == largeOffsets:
		return equalTo(dst, s.large[0][:], a.large[i:i+n+1], a.data, b.At(k))
	case one && a.layout == viewed && len(b.At(k)) <= inline:
		equalToShort(dst, a.views[i:i+n], b.At(k))
		return true
	case a.layout == smallOffsets && b.layout == smallOffsets && !one:
		return equalPairs(dst, s.small[0][:], s.small[1][:], a.small[i:i+n+1], a.data, b.small[k:k+n+1], b.data)
	case a.layout == largeOffsets && b.layout == largeOffsets && !one:
		return equalPairs(dst, s.large[0][:], s.large[1][:], a.large[i:i+n+1], a.data, b.large[k:k+n+1], b.data)
	}
	return each(dst, a, i, b, k, n, one, func(x, y []byte) bool { return string(x) == string(y) })
}

// each writes the bits of the rows for which f holds.
func each(dst []uint64, a *Column, i int, b *Column, k, n int, one bool, f func(x, y []byte) bool) bool {
	clear(dst[:(n+63)/64])
	step := 1
	if one {
		step = 0
	}
	for r := range n {
		x, ok := a.row(i + r)
		y, ok2 := b.row(k + r*step)
		if !ok || !ok2 {
			return false
		}
		if f(x, y) {
			dst[r>>6] |= 1 << (r & 63)
		}
	}
	return true
}

// row is row i; ok is false where its offsets lie outside of the data. Views that point nowhere are empty.
func (c *Column) row(i int) (b []byte, ok bool) {
	switch c.layout {
	case smallOffsets:
		return cut(c.data, int(c.small[i]), int(c.small[i+1]))
	case largeOffsets:
		return cut(c.data, int(c.large[i]), int(c.large[i+1]))
	}
	return c.At(i), true
}

func cut(data []byte, from, to int) ([]byte, bool) {
	if from < 0 || to < from || to > len(data) {
		return nil, false
	}
	return data[from:to], true
}

// equalTo compares with one string: lengths of all rows first, then the bytes of those that are as long.
func equalTo[O int32 | int64](dst []uint64, lens []O, offsets []O, data, s []byte) bool {
	n := len(offsets) - 1
	cpu.SubWrap(lens[:n], offsets[1:], offsets[:n])
	cpu.CompareTo(cpu.IsEqual, dst, lens[:n], O(len(s)))
	if len(s) == 0 {
		return true
	}
	last, bad := len(data)-len(s), false // the last place where the string fits
	if len(s) < 8 {
		var b [8]byte
		copy(b[:], s)
		first, mask, whole := binary.LittleEndian.Uint64(b[:]), uint64(1)<<(8*len(s))-1, len(data)-8
		for k := range (n + 63) / 64 {
			at := offsets[k<<6 : min(k<<6+64, n)]
			var keep uint64
			for m := dst[k]; m != 0; m &= m - 1 {
				j := bits.TrailingZeros64(m)
				o := int(at[j])
				switch {
				case whole >= 0 && uint(o) <= uint(whole):
					keep |= isZero((loadAt(data, o)^first)&mask) << j
				case last < 0 || uint(o) > uint(last):
					bad = true
				case string(data[o:o+len(s)]) == string(s):
					keep |= 1 << j
				}
			}
			dst[k] = keep
		}
		return !bad
	}
	// Two words, which overlap in a short string, are compared without a branch, so that many rows are on their way from
	// memory at once; what they leave out of a long one is compared in the few rows that are still left.
	first, tail := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[len(s)-8:])
	for k := range (n + 63) / 64 {
		at := offsets[k<<6 : min(k<<6+64, n)]
		var keep uint64
		for m := dst[k]; m != 0; m &= m - 1 {
			j := bits.TrailingZeros64(m)
			o := int(at[j])
			if last < 0 || uint(o) > uint(last) {
				return false
			}
			keep |= isZero((loadAt(data, o)^first)|(loadAt(data, o+len(s)-8)^tail)) << j
		}
		for m := keep; m != 0 && len(s) > 16; m &= m - 1 {
			j := bits.TrailingZeros64(m)
			if o := int(at[j]); string(data[o:o+len(s)]) != string(s) {
				keep &^= 1 << j
			}
		}
		dst[k] = keep
	}
	return true
}

// isZero is 1 for 0 and 0 for all else.
func isZero(x uint64) uint64 {
	if x == 0 {
		return 1
	}
	return 0
}

// loadAt reads 8 bytes of data from place o on, which the caller knows to be there.
func loadAt(data []byte, o int) uint64 {
	return load(unsafe.Add(unsafe.Pointer(unsafe.SliceData(data)), o))
}

// load reads 8 bytes in little-endian order.
func load(p unsafe.Pointer) uint64 { return binary.LittleEndian.Uint64((*[8]byte)(p)[:]) }

// equalPairs compares row with row: lengths first, then 8 bytes, then the rest.
func equalPairs[O int32 | int64](dst []uint64, al, bl []O, ao []O, a []byte, bo []O, b []byte) bool {
	n := len(ao) - 1
	cpu.SubWrap(al[:n], ao[1:], ao[:n])
	cpu.SubWrap(bl[:n], bo[1:], bo[:n])
	cpu.Compare(cpu.IsEqual, dst, al[:n], bl[:n])
	for k := range (n + 63) / 64 {
		m, keep := dst[k], uint64(0)
		for ; m != 0; m &= m - 1 {
			j := bits.TrailingZeros64(m)
			r := k<<6 + j
			x, y, l := int(ao[r]), int(bo[r]), int(al[r])
			if x < 0 || y < 0 || l < 0 || x > len(a)-l || y > len(b)-l {
				return false
			}
			if x > len(a)-8 || y > len(b)-8 {
				if string(a[x:x+l]) == string(b[y:y+l]) {
					keep |= 1 << j
				}
				continue
			}
			// Two words, the second the last of a string that is longer than one; of a shorter one both are its first. The
			// shift leaves the bytes that count.
			shift, tail := uint(8*(8-min(l, 8))), max(l, 8)-8
			different := (loadAt(a, x) ^ loadAt(b, y)) | (loadAt(a, x+tail) ^ loadAt(b, y+tail))
			keep |= isZero(different<<shift) << j
		}
		for m := keep; m != 0; m &= m - 1 {
			j := bits.TrailingZeros64(m)
			r := k<<6 + j
			if x, y, l := int(ao[r]), int(bo[r]), int(al[r]); l > 16 && string(a[x:x+l]) != string(b[y:y+l]) {
				keep &^= 1 << j
			}
		}
		dst[k] = keep
	}
	return true
}

// equalToShort compares views with a string that fits one.
func equalToShort(dst []uint64, views []View, s []byte) {
	var v View
	v.Len = int32(len(s))
	copy(unsafe.Slice(&v.prefix[0], inline), s)
	first, second := v.words()
	for i := 0; i < len(views); i += 64 {
		var w uint64
		for j := range views[i:min(i+64, len(views))] {
			a, b := views[i+j].words()
			w |= isZero((a^first)|(b^second)) << (j & 63)
		}
		dst[i>>6] = w
	}
}

// words is a view as two words. What lies behind a short string in its view is zeros.
func (v *View) words() (a, b uint64) {
	p := unsafe.Pointer(v)
	return load(p), load(unsafe.Add(p, 8))
}
