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
)

// positions is a set of values made ready for index_in.
type positions struct {
	kind keyKind
	null int32 // the index of the set's null where nulls match it, else -1
	// rows writes the index of rows [i, i+n) of a column in the set, -1 where they are not in it, whatever their validity.
	rows func(dst []int32, c *column, i, n int)
}

func newPositions(v *valueSet) (*positions, error) {
	p := &positions{kind: keysOf(v.typ), null: -1}
	if p.kind == noKeys {
		return nil, errNoKernel
	}
	if v.values.Len() > math.MaxInt32 {
		return nil, fmt.Errorf("%w: a set of %d values has indexes beyond int32", arrow.ErrInvalid, v.values.Len())
	}
	cols, release, err := keyColumns(v.values, p.kind)
	if err != nil {
		return nil, err
	}
	defer release()
	row := int32(0)
	for i := range cols {
		for k := range cols[i].n {
			if v.nulls == NullMatchingMatch && p.null < 0 && !cols[i].valid.Bit(k) {
				p.null = row
			}
			row++
		}
	}
	switch p.kind {
	case nullKeys:
		p.rows = func(dst []int32, _ *column, _, n int) {
			for i := range dst[:n] {
				dst[i] = -1
			}
		}
	case boolKeys:
		p.boolPositions(cols)
	case keys8:
		fixedPositions[uint8](p, cols, nil)
	case keys16:
		fixedPositions[uint16](p, cols, nil)
	case keys32:
		fixedPositions[uint32](p, cols, nil)
	case keys64:
		fixedPositions[uint64](p, cols, nil)
	case float32Keys:
		fixedPositions(p, cols, oneNaN32)
	case float64Keys:
		fixedPositions(p, cols, oneNaN64)
	default:
		p.stringPositions(cols)
	}
	return p, nil
}

// eachValid calls f for the valid rows of columns with their number among all rows.
func eachValid(cols []column, f func(c *column, k int, row int32)) {
	row := int32(0)
	for i := range cols {
		for k := range cols[i].n {
			if cols[i].valid.Bit(k) {
				f(&cols[i], k, row)
			}
			row++
		}
	}
}

func fixedPositions[T hash.Key](p *positions, cols []column, oneNaN func(dst, src []T)) {
	ids := hash.NewTable[T]()
	var first []int32 // by id
	eachValid(cols, func(c *column, k int, row int32) {
		v := view[T](c.data(k), 1)
		if oneNaN != nil {
			v = append([]T(nil), v...)
			oneNaN(v, v)
		}
		if id := ids.ID(v[0]); int(id) == len(first) {
			first = append(first, row)
		}
	})
	set := hash.NewDisplaced(ids.Values)
	p.rows = func(dst []int32, c *column, i, n int) {
		for k, v := range view[T](c.data(i), n) {
			if oneNaN != nil {
				one := [1]T{v}
				oneNaN(one[:], one[:])
				v = one[0]
			}
			at := set.Index(v)
			if at >= 0 {
				at = first[at]
			}
			dst[k] = at
		}
	}
}

func (p *positions) boolPositions(cols []column) {
	at := [2]int32{-1, -1}
	bit := func(c *column, k int) int {
		if c.bits().Bit(k) {
			return 1
		}
		return 0
	}
	eachValid(cols, func(c *column, k int, row int32) {
		if b := bit(c, k); at[b] < 0 {
			at[b] = row
		}
	})
	p.rows = func(dst []int32, c *column, i, n int) {
		for k := range n {
			dst[k] = at[bit(c, i+k)]
		}
	}
}

func (p *positions) stringPositions(cols []column) {
	ids := hash.NewStrings()
	var first []int32
	eachValid(cols, func(c *column, k int, row int32) {
		s := append([]byte(nil), c.strs.At(c.off+k)...)
		if id := ids.ID(s); int(id) == len(first) {
			first = append(first, row)
		}
	})
	p.rows = func(dst []int32, c *column, i, n int) {
		for k := range n {
			at := ids.Find(c.strs.At(c.off + i + k))
			if at >= 0 {
				at = first[at]
			}
			dst[k] = at
		}
	}
}

// run looks up a datum on the CPU.
func (p *positions) run(ctx context.Context, args []Datum) (Datum, error) {
	return lookUpChunks(ctx, args[0], p.kind, arrow.PrimitiveTypes.Int32, func(c *column) (arrow.ArrayData, error) {
		mem := GetAllocator(ctx)
		values, err := newBuffer(mem, 4*c.n)
		if err != nil {
			return nil, err
		}
		defer values.Release()
		valid, err := newBuffer(mem, (c.n+7)/8)
		if err != nil {
			return nil, err
		}
		defer valid.Release()
		out := view[int32](values.Bytes(), c.n)
		cpu.Parallel(c.n, mapMorsel, workersOf(ctx), func(_, start, end int) {
			for i := start; i < end && ctx.Err() == nil; i += 64 {
				n := min(64, end-i)
				p.rows(out[i:], c, i, n)
				v, found := c.valid.Word(i, i+n), uint64(0)
				for k, at := range out[i : i+n] {
					if v>>k&1 == 0 {
						at = p.null
					}
					if at >= 0 {
						found |= 1 << k
					}
					out[i+k] = max(at, 0)
				}
				cpu.PutWord(valid.Bytes(), i, c.n, found)
			}
		})
		return array.NewData(arrow.PrimitiveTypes.Int32, c.n, []*arrowmem.Buffer{valid, values}, nil, array.UnknownNullCount, 0), nil
	})
}
