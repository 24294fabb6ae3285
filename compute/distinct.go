package compute

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/hash"
	"github.com/broadhead-go/broadhead/compute/internal/strs"
)

// identifier gives the distinct values of columns ids, in the order of first appearance.
type identifier interface {
	// ids writes the ids of n rows from row i on. Nulls get an id of their own, or 0 where they are masked.
	ids(dst []int32, c *column, i, n int, masked bool)
	len() int
	// merge gives the values of another identifier of this kind ids here.
	merge(from identifier) []int32
	// values are the distinct values as array data of a type.
	values(t arrow.DataType, mem arrowmem.Allocator) (arrow.ArrayData, error)
}

func newIdentifier(k keyKind) func() identifier {
	switch k {
	case boolKeys:
		return func() identifier { return &fixedIDs[uint8]{table: hash.NewTable[uint8](), load: loadBits, bits: true} }
	case keys8:
		return func() identifier { return newFixedIDs[uint8](nil) }
	case keys16:
		return func() identifier { return newFixedIDs[uint16](nil) }
	case keys32:
		return func() identifier { return newFixedIDs[uint32](nil) }
	case keys64:
		return func() identifier { return newFixedIDs[uint64](nil) }
	case float32Keys:
		return func() identifier { return newFixedIDs(oneNaN32) }
	case float64Keys:
		return func() identifier { return newFixedIDs(oneNaN64) }
	case stringKeys:
		return func() identifier { return &stringIDs{hash.NewStrings()} }
	case nullKeys:
		return func() identifier { return &nullIDs{} }
	}
	return nil
}

// fixedIDs identifies values of fixed width.
type fixedIDs[T hash.Key] struct {
	table *hash.Table[T]
	load  func(c *column, i, n int, tmp []T) []T // n rows from row i on
	bits  bool                                   // values are written as bits
}

func newFixedIDs[T hash.Key](oneNaN func(dst, src []T)) identifier {
	f := &fixedIDs[T]{table: hash.NewTable[T]()}
	f.load = func(c *column, i, n int, tmp []T) []T {
		rows := view[T](c.data(i), n)
		if oneNaN == nil {
			return rows
		}
		oneNaN(tmp[:n], rows)
		return tmp[:n]
	}
	return f
}

func loadBits(c *column, i, n int, tmp []uint8) []uint8 {
	w := c.bits().Word(i, i+n)
	for k := range n {
		tmp[k] = uint8(w >> k & 1)
	}
	return tmp[:n]
}

func (f *fixedIDs[T]) len() int { return f.table.Len() }

func (f *fixedIDs[T]) ids(dst []int32, c *column, i, n int, masked bool) {
	var tmp [64]T
	for at := 0; at < n; at += 64 {
		m := min(64, n-at)
		rows, valid := f.load(c, i+at, m, tmp[:]), c.valid.Word(i+at, i+at+m)
		if valid == ^uint64(0)>>(64-m) {
			f.table.IDs(dst[at:], rows)
			continue
		}
		for k, v := range rows {
			switch {
			case valid>>k&1 != 0:
				dst[at+k] = f.table.ID(v)
			case masked:
				dst[at+k] = 0
			default:
				dst[at+k] = f.table.Null()
			}
		}
	}
}

func (f *fixedIDs[T]) merge(from identifier) []int32 {
	other := from.(*fixedIDs[T]).table
	ids := make([]int32, other.Len())
	for i, v := range other.Values {
		if int32(i) == other.HasNull() {
			ids[i] = f.table.Null()
		} else {
			ids[i] = f.table.ID(v)
		}
	}
	return ids
}

func (f *fixedIDs[T]) values(t arrow.DataType, mem arrowmem.Allocator) (arrow.ArrayData, error) {
	n := f.table.Len()
	size := len(bytesOfAll(f.table.Values))
	if f.bits {
		size = (n + 7) / 8
	}
	buf, err := newBuffer(mem, size)
	if err != nil {
		return nil, err
	}
	defer buf.Release()
	if f.bits {
		clear(buf.Bytes())
		for i, v := range f.table.Values {
			buf.Bytes()[i/8] |= byte(v) << (i % 8)
		}
	} else {
		copy(buf.Bytes(), bytesOfAll(f.table.Values))
	}
	return oneNull(t, mem, n, int(f.table.HasNull()), buf)
}

// stringIDs identifies byte strings.
type stringIDs struct{ table *hash.Strings }

func (s *stringIDs) len() int { return s.table.Len() }

func (s *stringIDs) ids(dst []int32, c *column, i, n int, masked bool) {
	for k := range n {
		switch {
		case c.valid.Bit(i + k):
			dst[k] = s.table.ID(c.strs.At(c.off + i + k))
		case masked:
			dst[k] = 0
		default:
			dst[k] = s.table.Null()
		}
	}
}

func (s *stringIDs) merge(from identifier) []int32 {
	other := from.(*stringIDs).table
	ids := make([]int32, other.Len())
	for i, v := range other.Values {
		if int32(i) == other.HasNull() {
			ids[i] = s.table.Null()
		} else {
			ids[i] = s.table.ID(v)
		}
	}
	return ids
}

func (s *stringIDs) values(t arrow.DataType, mem arrowmem.Allocator) (arrow.ArrayData, error) {
	bufs, err := stringBuffers(storageType(t), mem, s.table.Values)
	if err != nil {
		return nil, err
	}
	defer releaseBuffers(bufs)
	return oneNull(t, mem, s.table.Len(), int(s.table.HasNull()), bufs...)
}

// nullIDs identifies nulls.
type nullIDs struct{ seen bool }

func (x *nullIDs) len() int {
	if x.seen {
		return 1
	}
	return 0
}

func (x *nullIDs) ids(dst []int32, _ *column, _, n int, masked bool) {
	clear(dst[:n])
	x.seen = x.seen || n > 0 && !masked
}

func (x *nullIDs) merge(from identifier) []int32 {
	x.seen = x.seen || from.len() > 0
	return make([]int32, from.len())
}

func (x *nullIDs) values(t arrow.DataType, _ arrowmem.Allocator) (arrow.ArrayData, error) {
	return array.NewData(t, x.len(), []*arrowmem.Buffer{nil}, nil, x.len(), 0), nil
}

// oneNull is array data of n rows of which row null, if it is one, is null.
func oneNull(t arrow.DataType, mem arrowmem.Allocator, n, null int, values ...*arrowmem.Buffer) (arrow.ArrayData, error) {
	bufs, nulls := append([]*arrowmem.Buffer{nil}, values...), 0
	if null >= 0 {
		valid, err := newBuffer(mem, (n+7)/8)
		if err != nil {
			return nil, err
		}
		defer valid.Release()
		for i := range valid.Bytes() {
			valid.Bytes()[i] = 0xff
		}
		valid.Bytes()[null/8] &^= 1 << (null % 8)
		cpu.FillPadding(valid.Bytes(), n)
		bufs[0], nulls = valid, 1
	}
	return array.NewData(t, n, bufs, nil, nulls, 0), nil
}

// piece is rows [start, end) of one column.
type piece struct{ col, start, end int }

// region is the rows that one worker identifies: ids of its own, and what they become.
type region struct {
	pieces []piece
	ids    identifier
	final  []int32 // nil: they stay
}

// identify gives the rows of columns ids, several regions of them at once. visit, if there is one, sees the region's own
// ids, a block at a time. Which goroutine sees what does not change the final ids.
func identify(ctx context.Context, cols []column, k keyKind, masked bool, visit func(region int, p piece, ids []int32)) ([]region, error) {
	fresh := newIdentifier(k)
	if fresh == nil {
		return nil, errNoKernel
	}
	rows := 0
	for i := range cols {
		rows += cols[i].n
	}
	regions := make([]region, max(1, min(workersOf(ctx), rows/mapMorsel)))
	row := 0
	for i := range cols {
		for r := range regions {
			from, to := rows*r/len(regions)-row, rows*(r+1)/len(regions)-row
			if p := (piece{i, max(from, 0), min(to, cols[i].n)}); p.start < p.end {
				regions[r].pieces = append(regions[r].pieces, p)
			}
		}
		row += cols[i].n
	}
	// a worker may get several regions, or none
	cpu.Parallel(64*len(regions), 64, len(regions), func(_, start, end int) {
		for r := start / 64; r < end/64; r++ {
			regions[r].ids = fresh()
			regions[r].identify(ctx, cols, masked, r, visit)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for r := 1; r < len(regions); r++ {
		regions[r].final = regions[0].ids.merge(regions[r].ids)
	}
	if n := regions[0].ids.len(); n > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d distinct values do not fit int32 indices", arrow.ErrInvalid, n)
	}
	return regions, nil
}

func (g *region) identify(ctx context.Context, cols []column, masked bool, r int, visit func(int, piece, []int32)) {
	var ids [strs.BlockRows]int32
	for _, p := range g.pieces {
		for i := p.start; i < p.end && ctx.Err() == nil; i += len(ids) {
			n := min(len(ids), p.end-i)
			g.ids.ids(ids[:n], &cols[p.col], i, n, masked)
			if visit != nil {
				visit(r, piece{p.col, i, i + n}, ids[:n])
			}
		}
	}
}
