package selection

import (
	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/output"
)

// fixed picks values of a width in bytes, 0 for bits. What they refer to stays: a dictionary, the buffers behind views.
func (p *Picker) fixed(d arrow.ArrayData, r *Rows, width int) (*ac.ArrayDatum, error) {
	src, err := bufferOf(d, 1, sizeOf(d, width))
	if err != nil {
		return nil, err
	}
	out, err := output.New(p.Mem, r.bytes(width))
	if err != nil {
		return nil, err
	}
	if err = p.move(out.Values(), src, d, r, width); err != nil {
		out.Release()
		return nil, err
	}
	nulls := 0
	if valid := validOf(d); !valid.All() || r.nullable() {
		bits, err := out.AddValidity(p.Mem, r.n)
		if err != nil {
			out.Release()
			return nil, err
		}
		nulls = p.pickValidity(bits, valid, d.Len(), r)
	}
	var more []*arrowmem.Buffer
	if all := d.Buffers(); len(all) > 2 {
		more = all[2:]
	}
	datum := out.Finish(d.DataType(), r.n, nulls, more...)
	if dict := dictionaryOf(d); dict != nil {
		out.SetDictionary(dict)
	}
	return datum, nil
}

// bytes is the size of the rows, of a width in bytes, 0 for bits.
func (r *Rows) bytes(width int) int {
	if width == 0 {
		return (r.n + 7) / 8
	}
	return r.n * width
}

// moved picks the elements of one buffer of d.
func (p *Picker) moved(d arrow.ArrayData, buffer int, r *Rows, width int) (*arrowmem.Buffer, error) {
	src, err := bufferOf(d, buffer, sizeOf(d, width))
	if err != nil {
		return nil, err
	}
	out, err := p.Buffer(r.bytes(width))
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
	if err != nil {
		return nil, 0, err
	}
	return buf, p.pickValidity(buf.Bytes(), valid, n, r), nil
}

// pickValidity picks from the validity of n rows and counts the nulls.
func (p *Picker) pickValidity(out []byte, valid cpu.Bitmap, n int, r *Rows) (nulls int) {
	switch {
	case r.n == 0:
		return 0
	case r.kept != nil:
		return r.kept.Validity(out, valid, p.Workers)
	case valid.All():
		cpu.CopyBits(out, r.valid, r.n)
	default:
		r.each(p.Workers, func(start int, index []uint64) {
			o := out[start/8:]
			cpu.GatherBits(o, valid, index, n)
			if !r.valid.All() {
				cpu.AndBits(o, cpu.Bitmap{Data: o}, r.valid.Slice(start), len(index))
			}
		})
	}
	return r.n - cpu.Bitmap{Data: out}.Count(r.n)
}
