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

// longRows computes rows [start, end) and returns end, or after an error where inputs have nulls the first row of those
// that it did not do.
func (m *mapper) longRows(start, end int) int {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	b, words := &s.block, s.ow
	defer func() { b.ow = words }()
	bits := m.result == msl.Bool
	for start < end {
		b.n = end - start
		direct := bits && b.n > blockRows
		if direct {
			b.n &^= 63 // the last word may not be whole in memory
			b.ow = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(m.out[start/8:]))), b.n/64)
		} else {
			b.ow = words
		}
		if !bits {
			b.out = m.out[start*widths[m.result]:]
		}
		for i := range m.args {
			c := &m.run.cols[i]
			b.in[i].one, b.in[i].values = c.stride == 0, c.data(start*c.stride)
		}
		if st := m.kernel(b); st != 0 {
			if m.nullsIn {
				return start
			}
			m.status |= st
			return end
		}
		if bits && !direct {
			cpu.PutWords(m.out[start/8:], b.ow, b.n)
		}
		start += b.n
	}
	return start
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
