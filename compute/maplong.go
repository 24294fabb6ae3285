package compute

import (
	"unsafe"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// takesLong says that the kernel can have a whole morsel at once: it reads columns where they are and writes the result
// where it will be. Blocks are for what must be repeated or shifted first.
func (m *mapper) takesLong() bool {
	if !m.op.long || m.op.nulls != intersect {
		return false
	}
	bits := m.result == msl.Bool
	for i := range m.args {
		if m.types[i] == msl.Bool || m.plan.fused[i].op != nil || !bits && m.run.cols[i].stride == 0 {
			return false
		}
	}
	return !bits || uintptr(unsafe.Pointer(unsafe.SliceData(m.out)))%8 == 0
}

// longRows computes the rows from start on, to end or for bits to the last whole word, and returns the first that it did
// not. After an error where rows are null it has done none.
func (m *mapper) longRows(start, end int) int {
	n := end - start
	if m.result == msl.Bool {
		n &^= 63
	}
	if n == 0 {
		return start
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	b, words := &s.block, s.ow
	b.n = n
	for i := range m.args {
		c := &m.run.cols[i]
		b.in[i].one, b.in[i].values = c.stride == 0, c.data(start*c.stride)
	}
	if m.result == msl.Bool {
		b.ow = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(m.out[start/8:]))), n/64)
	} else {
		b.out = m.out[start*widths[m.result]:]
	}
	st := m.kernel(b)
	b.ow = words
	if st != 0 && m.nullsIn {
		return start
	}
	m.status |= st
	return start + n
}

// intersection writes where all inputs are valid.
func (m *mapper) intersection(start, end int) {
	dst, n, first := m.outValid[start/8:], end-start, true
	for i := range m.args {
		c := &m.run.cols[i]
		switch valid := c.valid.Slice(start * c.stride); {
		case valid.All():
		case c.stride == 0: // a null scalar
			clear(dst[:(n+7)/8])
			return
		case first:
			cpu.CopyBits(dst, valid, n)
			first = false
		default:
			cpu.AndBits(dst, cpu.Bitmap{Data: dst}, valid, n)
		}
	}
}
