package selection

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// binary picks strings and binaries.
func binary[O int32 | int64](p *Picker, d arrow.ArrayData, r *Rows) (arrow.ArrayData, error) {
	src, err := bufferOf(d, 2, 0)
	if err != nil {
		return nil, err
	}
	s, err := stretchesOf[O](p, d, r, len(src))
	if err != nil {
		return nil, err
	}
	defer s.buf.Release()
	values, err := p.Buffer(s.total())
	if err != nil {
		return nil, err
	}
	defer values.Release()
	dst := values.Bytes()
	s.each(func(to, from, n int) { copy(dst[to:to+n], src[from:]) })
	return p.data(d, r, []*arrowmem.Buffer{nil, s.buf, values}, nil)
}

// data is array data of the picked rows of d: the first of the buffers is made here.
func (p *Picker) data(d arrow.ArrayData, r *Rows, bufs []*arrowmem.Buffer, children []arrow.ArrayData) (arrow.ArrayData, error) {
	valid, nulls, err := p.validity(d, r)
	if err != nil {
		return nil, err
	}
	if valid != nil {
		defer valid.Release()
		bufs[0] = valid
	}
	return array.NewData(d.DataType(), r.n, bufs, children, nulls, 0), nil
}

// list picks lists and maps.
func list[O int32 | int64](p *Picker, d arrow.ArrayData, r *Rows) (arrow.ArrayData, error) {
	all, err := childOf(d, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	all.Release()
	s, err := stretchesOf[O](p, d, r, d.Children()[0].Len())
	if err != nil {
		return nil, err
	}
	defer s.buf.Release()
	from, to := int(s.at[0]), int(s.at[len(s.at)-1])
	child, err := p.child(d, 0, from, to, s.children(from, to-from))
	if err != nil {
		return nil, err
	}
	defer child.Release()
	return p.data(d, r, []*arrowmem.Buffer{nil, s.buf}, []arrow.ArrayData{child})
}

// child picks rows of rows [start, end) of a child.
func (p *Picker) child(d arrow.ArrayData, i, start, end int, r *Rows) (arrow.ArrayData, error) {
	c, err := childOf(d, i, start, end)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return p.Pick(c, r)
}

// listView picks views of lists; the values stay.
func (p *Picker) listView(d arrow.ArrayData, r *Rows, width int) (arrow.ArrayData, error) {
	bufs := make([]*arrowmem.Buffer, 3)
	for i := 1; i < 3; i++ {
		b, err := p.moved(d, i, r, width)
		if err != nil {
			return nil, err
		}
		defer b.Release()
		bufs[i] = b
	}
	return p.data(d, r, bufs, d.Children())
}

// fixedSizeList picks lists of k values each.
func (p *Picker) fixedSizeList(d arrow.ArrayData, r *Rows, k int) (arrow.ArrayData, error) {
	child, err := p.child(d, 0, d.Offset()*k, (d.Offset()+d.Len())*k, r.times(d.Len(), k))
	if err != nil {
		return nil, err
	}
	defer child.Release()
	return p.data(d, r, []*arrowmem.Buffer{nil}, []arrow.ArrayData{child})
}

// times are the rows of a child that has k for every one of n rows. Those of null rows are some row's.
func (r *Rows) times(n, k int) *Rows {
	if r.kept != nil {
		return keptRows(n*k, func(keep func(from, n int)) {
			r.kept.Runs(func(row, n int) { keep(row*k, n*k) })
		})
	}
	index := make([]uint64, 0, r.n*k)
	r.each(1, func(_ int, rows []uint64) {
		for _, row := range rows {
			for i := range uint64(k) {
				index = append(index, row*uint64(k)+i)
			}
		}
	})
	return numbered(index, cpu.Bitmap{})
}
