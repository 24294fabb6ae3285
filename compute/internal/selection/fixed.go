package selection

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// fixed picks values of a width in bytes, 0 for bits. What they refer to stays: a dictionary, the buffers behind views.
func (p *Picker) fixed(d arrow.ArrayData, r *Rows, width int) (arrow.ArrayData, error) {
	values, err := p.moved(d, 1, r, width)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	valid, nulls, err := p.validity(d, r)
	if err != nil {
		return nil, err
	}
	if valid != nil {
		defer valid.Release()
	}
	bufs := []*arrowmem.Buffer{valid, values}
	if dict := dictionaryOf(d); dict != nil {
		return array.NewDataWithDictionary(d.DataType(), r.n, bufs, nulls, 0, dict), nil
	}
	if all := d.Buffers(); len(all) > 2 {
		bufs = append(bufs, all[2:]...)
	}
	return array.NewData(d.DataType(), r.n, bufs, nil, nulls, 0), nil
}

// moved picks the elements of one buffer of d.
func (p *Picker) moved(d arrow.ArrayData, buffer int, r *Rows, width int) (*arrowmem.Buffer, error) {
	src, err := bufferOf(d, buffer, sizeOf(d, width))
	if err != nil {
		return nil, err
	}
	size := r.n * width
	if width == 0 {
		size = (r.n + 7) / 8
	}
	out, err := p.Buffer(size)
	if err != nil {
		return nil, err
	}
	if err := p.move(out.Bytes(), src, d, r, width); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

func (p *Picker) move(out, src []byte, d arrow.ArrayData, r *Rows, width int) error {
	n, off := d.Len(), d.Offset()
	bits := cpu.Bitmap{Data: src, Off: off}
	switch {
	case r.n == 0:
		return nil
	case r.kept != nil && width == 0:
		r.kept.Bits(out, bits, p.Workers)
		return nil
	case r.kept != nil:
		r.kept.Values(width, out, src[off*width:], p.Workers)
		return nil
	case width == 0:
		return r.until(p.Workers, n, func(start int, index []uint64) int {
			return cpu.GatherBits(out[start/8:], bits, index, n)
		})
	}
	return r.until(p.Workers, n, func(start int, index []uint64) int {
		return cpu.Gather(width, out[start*width:], src[off*width:], index, n)
	})
}

// sizeOf is how many bytes the values of d take, from the start of their buffer.
func sizeOf(d arrow.ArrayData, width int) int {
	end := d.Offset() + d.Len()
	switch {
	case d.Len() == 0:
		return 0
	case width == 0:
		return (end + 7) / 8
	}
	return end * width
}

// validity picks the validity of d and counts the nulls; nil where no row can be null.
func (p *Picker) validity(d arrow.ArrayData, r *Rows) (*arrowmem.Buffer, int, error) {
	valid, n := validOf(d), d.Len()
	if valid.All() && !r.nullable() {
		return nil, 0, nil
	}
	buf, err := p.Buffer((r.n + 7) / 8)
	if err != nil || r.n == 0 {
		return buf, 0, err
	}
	out := buf.Bytes()
	if r.kept != nil {
		return buf, r.kept.Validity(out, valid, p.Workers), nil
	}
	if valid.All() {
		cpu.CopyBits(out, r.valid, r.n)
	} else {
		r.each(p.Workers, func(start int, index []uint64) {
			o := out[start/8:]
			cpu.GatherBits(o, valid, index, n)
			if !r.valid.All() {
				cpu.AndBits(o, cpu.Bitmap{Data: o}, r.valid.Slice(start), len(index))
			}
		})
	}
	return buf, r.n - cpu.Bitmap{Data: out}.Count(r.n), nil
}
