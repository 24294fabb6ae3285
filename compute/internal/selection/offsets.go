package selection

import (
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// stretches are the values that the rows of a column stretch over: row i those from at[i] to at[i+1]. Picking rows of
// strings or lists comes in two steps: where each row's values go, then the values.
type stretches[O int32 | int64] struct {
	*Picker
	r   *Rows
	at  []O // of the column
	out []O // of the result
	buf *arrowmem.Buffer
}

// stretchesOf finds where the picked rows of d put their values, of which there are limit. The caller releases buf.
func stretchesOf[O int32 | int64](p *Picker, d arrow.ArrayData, r *Rows, limit int) (*stretches[O], error) {
	size := int(unsafe.Sizeof(O(0)))
	s := &stretches[O]{Picker: p, r: r, at: make([]O, 1)}
	if d.Len() > 0 {
		raw, err := bufferOf(d, 1, (d.Offset()+d.Len()+1)*size)
		if err != nil {
			return nil, err
		}
		s.at = valuesOf[O](raw[d.Offset()*size:], d.Len()+1)
	}
	if first, last := s.at[0], s.at[len(s.at)-1]; first < 0 || last < first || int64(last) > int64(limit) {
		return nil, badOffsets(d)
	}
	var err error
	if s.buf, err = p.Buffer((r.n + 1) * size); err != nil {
		return nil, err
	}
	s.out = valuesOf[O](s.buf.Bytes(), r.n+1)
	s.out[0] = 0
	total, good := s.place()
	if good && total <= int64(maxOf[O]()) {
		return s, nil
	}
	s.buf.Release()
	if !good {
		return nil, badOffsets(d)
	}
	return nil, fmt.Errorf("%w: %d values are more than offsets of %s can count", arrow.ErrInvalid, total, d.DataType())
}

func badOffsets(d arrow.ArrayData) error {
	return fmt.Errorf("%w: offsets of %s are not in order", arrow.ErrInvalid, d.DataType())
}

func maxOf[O int32 | int64]() O {
	m := int64(math.MaxInt64)
	if unsafe.Sizeof(O(0)) == 4 {
		m = math.MaxInt32
	}
	return O(m)
}

// valuesOf views n values; memory that is not aligned to them is copied.
func valuesOf[T any](b []byte, n int) []T {
	size := int(unsafe.Sizeof(*new(T)))
	b = b[:n*size]
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(*new(T)) != 0 {
		out := make([]T, n)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(b)), b)
		return out
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// place fills out, and says how many values there are and whether the column's offsets are in order.
func (s *stretches[O]) place() (total int64, good bool) {
	if s.r.kept != nil {
		return s.placeKept()
	}
	var bad atomic.Bool
	sums := make([]int64, (s.r.n+blockRows-1)/blockRows+1)
	least, most := s.at[0], s.at[len(s.at)-1]
	s.r.each(s.Workers, func(start int, index []uint64) {
		var sum int64
		out := s.out[start+1:]
		for i, row := range index {
			from, to := s.at[row], s.at[row+1]
			if from < least || to < from || to > most {
				bad.Store(true)
				return
			}
			if s.r.valid.Bit(start + i) {
				sum += int64(to - from)
			}
			out[i] = O(sum) // it may wrap, which the total shows
		}
		sums[start/blockRows+1] = sum
	})
	if bad.Load() {
		return 0, false
	}
	for i := 1; i < len(sums); i++ {
		sums[i] += sums[i-1]
	}
	s.r.each(s.Workers, func(start int, index []uint64) {
		base := O(sums[start/blockRows])
		out := s.out[start+1:][:len(index)]
		for i := range out {
			out[i] += base
		}
	})
	return sums[len(sums)-1], true
}

// placeKept is place for the rows that a filter keeps.
func (s *stretches[O]) placeKept() (total int64, good bool) {
	var bad atomic.Bool
	least, most := s.at[0], s.at[len(s.at)-1]
	sums := make([]int64, s.r.kept.Parts()+1)
	s.r.kept.EachPart(s.Workers, func(part, start, end, _ int) {
		var sum int64
		s.r.kept.RunsOf(start, end, func(row, n int) {
			from, to := s.at[row], s.at[row+n]
			if from < least || to < from || to > most {
				bad.Store(true)
				return
			}
			sum += int64(to - from)
		})
		sums[part+1] = sum
	})
	if bad.Load() {
		return 0, false
	}
	for i := 1; i < len(sums); i++ {
		sums[i] += sums[i-1]
	}
	s.r.kept.EachPart(s.Workers, func(part, start, end, at int) {
		base, out := O(sums[part]), s.out[at+1:]
		s.r.kept.RunsOf(start, end, func(row, n int) {
			before := s.at[row]
			base -= before
			for i, to := range s.at[row+1 : row+n+1] {
				if to < before {
					bad.Store(true)
					return
				}
				before = to
				out[i] = to + base
			}
			base += before
			out = out[n:]
		})
	})
	return sums[len(sums)-1], !bad.Load()
}

// each calls f, in parallel, for stretches of n values from one of the column's on that go to those from one of the
// result's on.
func (s *stretches[O]) each(f func(to, from, n int)) {
	if s.r.kept != nil {
		s.r.kept.EachPart(s.Workers, func(_, start, end, at int) {
			s.r.kept.RunsOf(start, end, func(row, n int) {
				if from, to := s.at[row], s.at[row+n]; from < to {
					f(int(s.out[at]), int(from), int(to-from))
				}
				at += n
			})
		})
		return
	}
	s.r.each(s.Workers, func(start int, index []uint64) {
		out := s.out[start:][:len(index)+1]
		for i, row := range index {
			if n := out[i+1] - out[i]; n > 0 {
				f(int(out[i]), int(s.at[row]), int(n))
			}
		}
	})
}

// total is the number of values of the result.
func (s *stretches[O]) total() int { return int(s.out[len(s.out)-1]) }

// children are the rows of a child, from row base on, that hold the values.
func (s *stretches[O]) children(base, n int) *Rows {
	if s.r.kept == nil {
		index := make([]uint64, s.total())
		s.each(func(to, from, n int) {
			for i := range index[to : to+n] {
				index[to+i] = uint64(from - base + i)
			}
		})
		return numbered(index, cpu.Bitmap{})
	}
	return keptRows(n, func(keep func(from, n int)) {
		s.r.kept.Runs(func(row, n int) { keep(int(s.at[row])-base, int(s.at[row+n]-s.at[row])) })
	})
}

// keptRows are the rows of n that mark says to keep.
func keptRows(n int, mark func(keep func(from, n int))) *Rows {
	words := make([]byte, (n+63)/64*8)
	mark(func(from, n int) { setBits(words, from, n) })
	s := new(cpu.Selection)
	s.Select(cpu.Bitmap{Data: words}, cpu.Bitmap{}, n, false, 1)
	return Kept(s)
}

// setBits sets n bits from one on.
func setBits(b []byte, from, n int) {
	for ; n > 0 && from%8 != 0; n-- {
		b[from/8] |= 1 << (from % 8)
		from++
	}
	for ; n >= 8; n -= 8 {
		b[from/8] = 0xff
		from += 8
	}
	for ; n > 0; n-- {
		b[from/8] |= 1 << (from % 8)
		from++
	}
}
