package selection

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// structs picks structs, field by field.
func (p *Picker) structs(d arrow.ArrayData, r *Rows) (arrow.ArrayData, error) {
	fields, err := p.fields(d, r)
	if err != nil {
		return nil, err
	}
	defer releaseAll(fields)
	return p.data(d, r, []*arrowmem.Buffer{nil}, fields)
}

// fields picks the rows of every child.
func (p *Picker) fields(d arrow.ArrayData, r *Rows) ([]arrow.ArrayData, error) {
	out := make([]arrow.ArrayData, 0, len(d.Children()))
	for i := range d.Children() {
		f, err := p.child(d, i, d.Offset(), d.Offset()+d.Len(), r)
		if err != nil {
			releaseAll(out)
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func releaseAll(ds []arrow.ArrayData) {
	for _, d := range ds {
		d.Release()
	}
}

// sparseUnion picks unions whose children have every row. A null row is a null of the first child.
func (p *Picker) sparseUnion(d arrow.ArrayData, r *Rows) (arrow.ArrayData, error) {
	codes, err := p.moved(d, 1, r, 1)
	if err != nil {
		return nil, err
	}
	defer codes.Release()
	if all := d.DataType().(*arrow.SparseUnionType).TypeCodes(); r.nullable() && len(all) > 0 {
		out := codes.Bytes()
		r.runs(func(row, n int) {
			if row < 0 {
				out[0] = byte(all[0])
			}
			out = out[n:]
		})
	}
	fields, err := p.fields(d, r)
	if err != nil {
		return nil, err
	}
	defer releaseAll(fields)
	return array.NewData(d.DataType(), r.n, []*arrowmem.Buffer{nil, codes}, fields, 0, 0), nil
}

// denseUnion picks unions whose children have only their own rows. A null row is a null of the first child.
func (p *Picker) denseUnion(d arrow.ArrayData, r *Rows) (arrow.ArrayData, error) {
	t := d.DataType().(*arrow.DenseUnionType)
	codes, offsets, err := unionRows(d)
	if err != nil {
		return nil, err
	}
	newCodes, err := p.Buffer(r.n)
	if err != nil {
		return nil, err
	}
	defer newCodes.Release()
	newOffsets, err := p.Buffer(4 * r.n)
	if err != nil {
		return nil, err
	}
	defer newOffsets.Release()
	outCodes, outOffsets := valuesOf[int8](newCodes.Bytes(), r.n), valuesOf[int32](newOffsets.Bytes(), r.n)
	ids, children := t.ChildIDs(), d.Children()
	rows := make([]nullable, len(children))
	i, bad := 0, len(children) == 0 || len(t.TypeCodes()) == 0
	r.runs(func(row, n int) {
		for k := range n {
			if bad {
				return
			}
			code, at := int8(t.TypeCodes()[0]), int64(-1)
			if row >= 0 {
				code, at = codes[row+k], int64(offsets[row+k])
			}
			c := arrow.InvalidUnionChildID
			if code >= 0 {
				c = ids[code]
			}
			if c < 0 || c >= len(children) || row >= 0 && (at < 0 || at >= int64(children[c].Len())) {
				bad = true
				return
			}
			outCodes[i], outOffsets[i] = code, int32(len(rows[c].index))
			rows[c].add(at)
			i++
		}
	})
	if bad && r.n > 0 {
		return nil, fmt.Errorf("%w: %s with a type code or an offset of no child", arrow.ErrInvalid, t)
	}
	fields := make([]arrow.ArrayData, 0, len(children))
	defer func() { releaseAll(fields) }()
	for c := range children {
		f, err := p.child(d, c, 0, children[c].Len(), rows[c].rows())
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return array.NewData(t, r.n, []*arrowmem.Buffer{nil, newCodes, newOffsets}, fields, 0, 0), nil
}

// unionRows are the type codes and the offsets of a dense union's rows.
func unionRows(d arrow.ArrayData) (codes []int8, offsets []int32, err error) {
	a, err := bufferOf(d, 1, sizeOf(d, 1))
	if err != nil || d.Len() == 0 {
		return nil, nil, err
	}
	b, err := bufferOf(d, 2, sizeOf(d, 4))
	if err != nil {
		return nil, nil, err
	}
	return valuesOf[int8](a[d.Offset():], d.Len()), valuesOf[int32](b[4*d.Offset():], d.Len()), nil
}

// nullable collects row numbers, of which some are nulls.
type nullable struct {
	index []uint64
	nulls []int
}

// add adds a row number, -1 for a null.
func (l *nullable) add(row int64) {
	if row < 0 {
		l.nulls = append(l.nulls, len(l.index))
		row = 0
	}
	l.index = append(l.index, uint64(row))
}

func (l *nullable) rows() *Rows {
	valid := cpu.Bitmap{}
	if len(l.nulls) > 0 {
		valid.Data = make([]byte, (len(l.index)+7)/8)
		setBits(valid.Data, 0, len(l.index))
		for _, i := range l.nulls {
			valid.Data[i/8] &^= 1 << (i % 8)
		}
	}
	return numbered(l.index, valid)
}
