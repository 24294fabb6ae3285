package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/hash"
	"github.com/broadhead-go/broadhead/compute/internal/strs"
)

// membership is a set of values made ready for is_in.
type membership struct {
	kind    keyKind
	hasNull bool
	nulls   NullMatchingBehavior
	small   []uint64 // the patterns of a set that a device takes
	// words writes one bit a row of rows [i, i+n) of a column: whether its value is in the set, whatever its validity.
	words func(dst []uint64, c *column, i, n int)
}

func newMembership(v *valueSet) (*membership, error) {
	m := &membership{kind: keysOf(v.typ), nulls: v.nulls}
	if m.kind == noKeys {
		return nil, errNoKernel
	}
	cols, release, err := keyColumns(v.values, m.kind)
	if err != nil {
		return nil, err
	}
	defer release()
	for i := range cols {
		m.hasNull = m.hasNull || !cols[i].valid.All() && cols[i].valid.Count(cols[i].n) < cols[i].n
	}
	switch m.kind {
	case nullKeys:
		m.words = func(dst []uint64, _ *column, _, n int) { clear(dst[:(n+63)/64]) }
	case boolKeys:
		m.boolSet(cols)
	case keys8:
		fixedSet[uint8](m, cols, nil)
	case keys16:
		fixedSet[uint16](m, cols, nil)
	case keys32:
		fixedSet[uint32](m, cols, nil)
	case keys64:
		fixedSet[uint64](m, cols, nil)
	case float32Keys:
		fixedSet(m, cols, oneNaN32)
	case float64Keys:
		fixedSet(m, cols, oneNaN64)
	default:
		m.stringSet(cols)
	}
	return m, nil
}

// validValues are the patterns of the valid rows of columns.
func validValues[T hash.Key](cols []column, oneNaN func(dst, src []T)) []T {
	var out []T
	for i := range cols {
		c := &cols[i]
		for k, v := range view[T](c.data(0), c.n) {
			if c.valid.Bit(k) {
				out = append(out, v)
			}
		}
	}
	if oneNaN != nil {
		oneNaN(out, out)
	}
	return out
}

func fixedSet[T hash.Key](m *membership, cols []column, oneNaN func(dst, src []T)) {
	values := validValues(cols, oneNaN)
	m.small = smallPatterns(values)
	set := hash.NewSet(values)
	m.words = func(dst []uint64, c *column, i, n int) {
		rows := view[T](c.data(i), n)
		if oneNaN != nil {
			var same [strs.BlockRows]T
			oneNaN(same[:n], rows)
			rows = same[:n]
		}
		set.Words(dst, rows)
	}
}

func (m *membership) boolSet(cols []column) {
	var has [2]uint64 // all bits set where false or true is in the set
	for i := range cols {
		for k := range cols[i].n {
			if cols[i].valid.Bit(k) {
				bit := 0
				if cols[i].bits().Bit(k) {
					bit = 1
				}
				has[bit] = ^uint64(0)
			}
		}
	}
	m.words = func(dst []uint64, c *column, i, n int) {
		c.bits().Words(dst, i, n)
		for k := range dst[:(n+63)/64] {
			dst[k] = dst[k]&has[1] | ^dst[k]&has[0]
		}
	}
}

func (m *membership) stringSet(cols []column) {
	set := hash.NewStrings()
	var lengths uint64 // bit n: a string of n bytes, or of 63 and more, is in the set
	var owned [][]byte
	for i := range cols {
		for k := range cols[i].n {
			if cols[i].valid.Bit(k) {
				s := append([]byte(nil), cols[i].strs.At(cols[i].off+k)...)
				owned = append(owned, s)
				lengths |= 1 << min(len(s), 63)
			}
		}
	}
	for _, s := range owned {
		set.ID(s)
	}
	m.words = func(dst []uint64, c *column, i, n int) {
		clear(dst[:(n+63)/64])
		for k := range n {
			s := c.strs.At(c.off + i + k)
			if lengths>>min(len(s), 63)&1 != 0 && set.Find(s) >= 0 {
				dst[k>>6] |= 1 << (k & 63)
			}
		}
	}
}

// mayBeNull says whether the result may have nulls, by whether the values may.
func (m *membership) mayBeNull(values bool) bool {
	switch m.nulls {
	case NullMatchingEmitNull:
		return values || m.kind == nullKeys
	case NullMatchingInconclusive:
		return values || m.hasNull || m.kind == nullKeys
	}
	return false
}

// run looks up a datum on the CPU. The answer to several chunks is one.
func (m *membership) run(ctx context.Context, args []Datum) (Datum, error) {
	t := arrow.FixedWidthTypes.Boolean
	found, err := lookUpChunks(ctx, args[0], m.kind, t, func(c *column) (arrow.ArrayData, error) {
		return m.column(ctx, c)
	})
	if err != nil || len(chunksOf(found)) < 2 {
		return found, err
	}
	defer found.Release()
	one, err := whole(ctx, chunksOf(found), t)
	if err != nil {
		return nil, err
	}
	defer one.Release()
	return assemble(t, formChunked, []arrow.ArrayData{one}), nil
}

// lookUpChunks calls f for each chunk of a datum and gives the results its form.
func lookUpChunks(ctx context.Context, d Datum, k keyKind, out arrow.DataType, f func(c *column) (arrow.ArrayData, error)) (Datum, error) {
	cols, release, err := keyColumns(d, k)
	if err != nil {
		return nil, err
	}
	defer release()
	chunks := make([]arrow.ArrayData, 0, len(cols))
	defer func() {
		for _, c := range chunks {
			c.Release()
		}
	}()
	for i := range cols {
		data, err := f(&cols[i])
		if err == nil {
			chunks = append(chunks, data)
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	form, ok := formOf(d)
	if !ok {
		return nil, fmt.Errorf("%w: a %s has no single column", arrow.ErrNotImplemented, d.Kind())
	}
	return assemble(out, form, chunks), nil
}

// column looks up one column.
func (m *membership) column(ctx context.Context, c *column) (arrow.ArrayData, error) {
	mem := GetAllocator(ctx)
	values, err := newBuffer(mem, (c.n+7)/8)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	var valid *arrowmem.Buffer
	if m.mayBeNull(!c.valid.All()) {
		if valid, err = newBuffer(mem, (c.n+7)/8); err != nil {
			return nil, err
		}
		defer valid.Release()
	}
	nullsFound := m.nulls == NullMatchingMatch && m.hasNull
	cpu.Parallel(c.n, mapMorsel, workersOf(ctx), func(_, start, end int) {
		var words, validity [strs.BlockRows / 64]uint64
		for i := start; i < end && ctx.Err() == nil; i += strs.BlockRows {
			n := min(strs.BlockRows, end-i)
			m.words(words[:], c, i, n)
			c.valid.Words(validity[:], i, n)
			for k := range (n + 63) / 64 {
				found, v := words[k]&validity[k], validity[k]
				if valid == nil && nullsFound {
					found |= ^v
				}
				words[k] = found
				if m.nulls == NullMatchingInconclusive && m.hasNull {
					v = found
				}
				validity[k] = v
			}
			cpu.PutWords(values.Bytes()[i/8:], words[:], n)
			if valid != nil {
				cpu.PutWords(valid.Bytes()[i/8:], validity[:], n)
			}
		}
	})
	nulls := 0
	if valid != nil {
		nulls = array.UnknownNullCount
	}
	return array.NewData(arrow.FixedWidthTypes.Boolean, c.n, []*arrowmem.Buffer{valid, values}, nil, nulls, 0), nil
}
