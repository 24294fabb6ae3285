// Package selection makes columns out of rows chosen from others, whatever their type: what filter and take share.
package selection

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// Rows say which rows of a column make up another, in order: those that a filter keeps, or those that indices name. Some
// of them may be null whatever the column holds.
type Rows struct {
	n     int
	kept  *cpu.Selection                             // of a filter
	index func(scratch []uint64, start int) []uint64 // of indices: those from row start on; null ones are 0
	valid cpu.Bitmap                                 // of indices
	text  func(i int) string                         // an index, for people
}

// Kept are the rows that a filter keeps.
func Kept(s *cpu.Selection) *Rows { return &Rows{n: s.Count(), kept: s} }

// Filter is a selection, the rows that it keeps and who picks them, to be used again for others.
type Filter struct {
	cpu.Selection
	Picker
	rows Rows
}

// Rows are those that the filter keeps now.
func (f *Filter) Rows() *Rows {
	f.rows = Rows{n: f.Count(), kept: &f.Selection}
	return &f.rows
}

// Len is the number of rows chosen.
func (r *Rows) Len() int { return r.n }

// Indices are the rows that n integers name, width bytes each and aligned to that.
func Indices(values []byte, width int, signed bool, valid cpu.Bitmap, n int) *Rows {
	r := &Rows{n: n, valid: valid}
	switch {
	case width == 1 && signed:
		setIndices[int8](r, values)
	case width == 1:
		setIndices[uint8](r, values)
	case width == 2 && signed:
		setIndices[int16](r, values)
	case width == 2:
		setIndices[uint16](r, values)
	case width == 4 && signed:
		setIndices[int32](r, values)
	case width == 4:
		setIndices[uint32](r, values)
	case signed:
		setIndices[int64](r, values)
	default:
		setIndices[uint64](r, values)
	}
	return r
}

// setIndices makes the rows those that values name. A negative index becomes one that is too large for any column.
func setIndices[T cpu.Integer](r *Rows, values []byte) {
	var v []T
	if r.n > 0 {
		_ = values[r.n*int(unsafe.Sizeof(T(0)))-1]
		v = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(values))), r.n)
	}
	r.text = func(i int) string { return fmt.Sprint(v[i]) }
	if unsafe.Sizeof(T(0)) == 8 && r.valid.All() {
		words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
		r.index = func(scratch []uint64, start int) []uint64 { return words[start : start+len(scratch)] }
		return
	}
	r.index = func(scratch []uint64, start int) []uint64 {
		for i, x := range v[start : start+len(scratch)] {
			scratch[i] = uint64(x)
		}
		if !r.valid.All() {
			cpu.ClearNulls(scratch, r.valid.Slice(start))
		}
		return scratch
	}
}

// nullable says whether some rows may be null whatever the column holds.
func (r *Rows) nullable() bool {
	if r.kept != nil {
		return r.kept.EmitsNulls()
	}
	return !r.valid.All()
}

// numbered are rows by numbers that are known to be good.
func numbered(index []uint64, valid cpu.Bitmap) *Rows {
	return &Rows{
		n: len(index), valid: valid,
		index: func(scratch []uint64, start int) []uint64 { return index[start : start+len(scratch)] },
		text:  func(i int) string { return fmt.Sprint(index[i]) },
	}
}

// blockRows is how many indices are looked at together, a multiple of 64.
const blockRows = 1 << 12

// partRows is the least number of rows worth a goroutine of its own.
const partRows = 1 << 14

var scratches = sync.Pool{New: func() any { return new([blockRows]uint64) }}

// each calls f, in parallel, for blocks of at most blockRows indices; start is a multiple of that.
func (r *Rows) each(workers int, f func(start int, index []uint64)) {
	cpu.Parallel(r.n, partRows, workers, func(_, start, end int) {
		scratch := scratches.Get().(*[blockRows]uint64)
		defer scratches.Put(scratch)
		for ; start < end; start += blockRows {
			f(start, r.index(scratch[:min(blockRows, end-start)], start))
		}
	})
}

// until is each for an f that says how many of its indices are below limit. An index that is not is an error.
func (r *Rows) until(workers, limit int, f func(start int, index []uint64) (done int)) error {
	var failed atomic.Bool
	r.each(workers, func(start int, index []uint64) {
		if f(start, index) < len(index) {
			failed.Store(true)
		}
	})
	if !failed.Load() {
		return nil
	}
	var err error
	r.each(1, func(start int, index []uint64) {
		if err != nil {
			return
		}
		if i := cpu.GatherBits(nil, cpu.Bitmap{}, index, limit); i < len(index) {
			err = r.outOfRange(start+i, limit)
		}
	})
	return err
}

func (r *Rows) outOfRange(i, limit int) error {
	return fmt.Errorf("%w: index %s of row %d is out of bounds of %d rows", arrow.ErrIndex, r.text(i), i, limit)
}

// Check says whether every index is that of one of limit rows.
func (r *Rows) Check(workers, limit int) error {
	if r.kept != nil {
		return nil
	}
	if limit == 0 {
		for i := range r.n {
			if r.valid.Bit(i) {
				return r.outOfRange(i, limit)
			}
		}
		return nil
	}
	return r.until(workers, limit, func(_ int, index []uint64) int {
		for i, at := range index {
			if at >= uint64(limit) {
				return i
			}
		}
		return len(index)
	})
}

// runs calls f for runs of n rows from a row of the source on; a row of -1 stands for a null.
func (r *Rows) runs(f func(row, n int)) {
	if r.kept != nil {
		nulls := r.kept.Nulls()
		r.kept.Runs(func(row, n int) {
			if nulls.All() {
				f(row, n)
				return
			}
			for i := row; i < row+n; i++ {
				if nulls.Bit(i) {
					f(i, 1)
				} else {
					f(-1, 1)
				}
			}
		})
		return
	}
	r.each(1, func(start int, index []uint64) {
		for i, at := range index {
			if r.valid.Bit(start + i) {
				f(int(at), 1)
			} else {
				f(-1, 1)
			}
		}
	})
}
