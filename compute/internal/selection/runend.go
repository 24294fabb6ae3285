package selection

import (
	"fmt"
	"math"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// runEnds picks rows that are encoded as runs; the result is encoded so too, neighbours of one run in one run again.
func (p *Picker) runEnds(d arrow.ArrayData, r *Rows) (arrow.ArrayData, error) {
	t := d.DataType().(*arrow.RunEndEncodedType)
	ends, width, err := endsOf(d)
	if err != nil {
		return nil, err
	}
	if d.Len() > 0 && (len(ends) == 0 || ends[len(ends)-1] < int64(d.Offset()+d.Len()) || len(ends) > d.Children()[1].Len()) {
		return nil, fmt.Errorf("%w: %s of fewer runs than rows need", arrow.ErrInvalid, t)
	}
	if most := int64(math.MaxInt64) >> (64 - 8*width); int64(r.n) > most {
		return nil, fmt.Errorf("%w: %d rows are more than run ends of %s can count", arrow.ErrInvalid, r.n, t.RunEnds())
	}
	var runs nullable
	var to []int64 // where each ends
	at, last, done := 0, int64(-2), int64(0)
	r.runs(func(row, n int) {
		for n > 0 {
			run, k := int64(-1), n
			if row >= 0 {
				at = find(ends, at, int64(row+d.Offset()))
				run, k = int64(at), int(min(int64(n), ends[at]-int64(row+d.Offset())))
				row += k
			}
			if run != last {
				runs.add(run)
				to = append(to, 0)
				last = run
			}
			done += int64(k)
			to[len(to)-1] = done
			n -= k
		}
	})
	out, err := p.Buffer(len(to) * width)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	putEnds(out.Bytes(), to, width)
	endData := array.NewData(t.RunEnds(), len(to), []*arrowmem.Buffer{nil, out}, nil, 0, 0)
	defer endData.Release()
	values, err := p.child(d, 1, 0, d.Children()[1].Len(), runs.rows())
	if err != nil {
		return nil, err
	}
	defer values.Release()
	return array.NewData(t, r.n, []*arrowmem.Buffer{nil}, []arrow.ArrayData{endData, values}, 0, 0), nil
}

// find is the run that a row is in, which is often that of the row before or the next one.
func find(ends []int64, hint int, row int64) int {
	for i := hint; i < min(hint+2, len(ends)); i++ {
		if row < ends[i] && (i == 0 || row >= ends[i-1]) {
			return i
		}
	}
	return sort.Search(len(ends), func(i int) bool { return row < ends[i] })
}

// endsOf are the run ends, which have to rise, and their width.
func endsOf(d arrow.ArrayData) ([]int64, int, error) {
	if len(d.Children()) != 2 {
		return nil, 0, fmt.Errorf("%w: %s has %d children", arrow.ErrInvalid, d.DataType(), len(d.Children()))
	}
	c := d.Children()[0]
	width := Width(c.DataType())
	raw, err := bufferOf(c, 1, sizeOf(c, width))
	if err != nil {
		return nil, 0, err
	}
	ends := make([]int64, c.Len())
	switch raw = raw[min(len(raw), c.Offset()*width):]; width {
	case 2:
		widen(ends, valuesOf[int16](raw, c.Len()))
	case 4:
		widen(ends, valuesOf[int32](raw, c.Len()))
	case 8:
		widen(ends, valuesOf[int64](raw, c.Len()))
	default:
		return nil, 0, fmt.Errorf("%w: run ends of type %s", arrow.ErrInvalid, c.DataType())
	}
	for i := range ends {
		if ends[i] <= 0 || i > 0 && ends[i] <= ends[i-1] {
			return nil, 0, fmt.Errorf("%w: run ends that do not rise", arrow.ErrInvalid)
		}
	}
	return ends, width, nil
}

func widen[T int16 | int32 | int64](dst []int64, src []T) {
	for i, v := range src {
		dst[i] = int64(v)
	}
}

func putEnds(out []byte, ends []int64, width int) {
	switch width {
	case 2:
		narrow(valuesOf[int16](out, len(ends)), ends)
	case 4:
		narrow(valuesOf[int32](out, len(ends)), ends)
	default:
		narrow(valuesOf[int64](out, len(ends)), ends)
	}
}

func narrow[T int16 | int32 | int64](dst []T, src []int64) {
	for i, v := range src {
		dst[i] = T(v)
	}
}
