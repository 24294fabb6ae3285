// Package strs reads columns of byte strings, whatever their layout, and compares them row by row. Like the other
// kernels it knows nothing of validity: values under nulls are computed with and mean nothing.
package strs

import (
	"unsafe"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// Column is a column of byte strings. It borrows its memory.
type Column struct {
	layout layout
	n      int
	small  []int32 // n+1 offsets into data
	large  []int64
	data   []byte
	width  int // of strings of fixed width
	views  []View
	bufs   [][]byte // what views point into
}

type layout uint8

const (
	fixedWidth layout = iota
	smallOffsets
	largeOffsets
	viewed
)

// View is an element of a column of views: up to 12 bytes lie in it, from prefix on.
type View struct {
	Len    int32
	prefix [4]byte
	Buf    int32
	Off    int32
}

// inline is how many bytes a view holds itself.
const inline = 12

// Small is a column with offsets of 32 bits, one more than rows.
func Small(offsets []int32, data []byte) *Column {
	return &Column{layout: smallOffsets, n: max(len(offsets)-1, 0), small: offsets, data: data}
}

// Large is a column with offsets of 64 bits, one more than rows.
func Large(offsets []int64, data []byte) *Column {
	return &Column{layout: largeOffsets, n: max(len(offsets)-1, 0), large: offsets, data: data}
}

// Fixed is a column of n strings of one width, which may be 0.
func Fixed(n, width int, data []byte) *Column {
	return &Column{layout: fixedWidth, n: n, width: width, data: data[:n*width]}
}

// Views is a column of views into buffers.
func Views(views []View, bufs [][]byte) *Column {
	return &Column{layout: viewed, n: len(views), views: views, bufs: bufs}
}

// One is a column of one row.
func One(s []byte) *Column { return Fixed(1, len(s), s) }

// Len is the number of rows.
func (c *Column) Len() int { return c.n }

// At is row i, in the column's memory. A view that points nowhere is empty: Check finds it.
func (c *Column) At(i int) []byte {
	switch c.layout {
	case smallOffsets:
		return c.data[c.small[i]:c.small[i+1]]
	case largeOffsets:
		return c.data[c.large[i]:c.large[i+1]]
	case fixedWidth:
		return c.data[i*c.width : (i+1)*c.width]
	}
	b, _ := c.views[i].bytes(c.bufs)
	return b
}

// bytes is what a view shows; ok is false where it points outside of the buffers.
func (v *View) bytes(bufs [][]byte) (b []byte, ok bool) {
	n := int(v.Len)
	if uint(n) <= inline {
		return unsafe.Slice(&v.prefix[0], inline)[:n], true
	}
	if uint(v.Buf) >= uint(len(bufs)) || n < 0 || v.Off < 0 || int(v.Off)+n > len(bufs[v.Buf]) {
		return nil, false
	}
	return bufs[v.Buf][v.Off:][:n], true
}

// Check reports whether every row lies in the column's memory, so that At may be called. What a view under a null holds
// may be anything.
func (c *Column) Check(valid cpu.Bitmap) bool {
	switch c.layout {
	case smallOffsets:
		return ordered(c.small, len(c.data))
	case largeOffsets:
		return ordered(c.large, len(c.data))
	case viewed:
		for i := range c.views {
			if _, ok := c.views[i].bytes(c.bufs); !ok && valid.Bit(i) {
				return false
			}
		}
	}
	return true
}

// ordered reports whether offsets are in order and within size.
func ordered[O int32 | int64](offsets []O, size int) bool {
	if len(offsets) == 0 {
		return true
	}
	bad, last := offsets[0], offsets[0]
	for _, o := range offsets {
		bad |= o - last // negative where an offset is below the one before
		bad |= o
		last = o
	}
	return bad >= 0 && int64(last) <= int64(size)
}

// NewView is the view of a string; one that does not fit a view lies in buffer buf at off.
func NewView(s []byte, buf, off int32) View {
	v := View{Len: int32(len(s)), Buf: buf, Off: off}
	if len(s) <= inline {
		v.Buf, v.Off = 0, 0
		copy(unsafe.Slice(&v.prefix[0], inline), s)
	} else {
		copy(v.prefix[:], s)
	}
	return v
}
