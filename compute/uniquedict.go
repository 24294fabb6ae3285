package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute/internal/hash"
)

// distinctIndexes views dictionary arrays as their indexes. Chunks with dictionaries of their own are given one for all,
// the values of which are in the order of first appearance.
func distinctIndexes(ctx context.Context, d Datum, t *arrow.DictionaryType) (*distinctInput, error) {
	in := &distinctInput{kind: keysOf(t.IndexType), release: func() {}}
	var chunks []arrow.ArrayData
	var dicts []*array.Data
	for _, c := range chunksOf(d) {
		if c.Len() == 0 {
			continue
		}
		dict := dictionaryOf(c)
		if dict == nil {
			return nil, fmt.Errorf("%w: a dictionary array has no dictionary", arrow.ErrInvalid)
		}
		chunks, dicts = append(chunks, c), append(dicts, dict)
	}
	for _, c := range chunks {
		col, err := columnOf(c, in.kind.patterns(), false)
		if err != nil {
			return nil, err
		}
		in.cols = append(in.cols, col)
	}
	var dict arrow.ArrayData
	switch {
	case len(dicts) == 0:
		dict = emptyData(t.ValueType)
		in.release = dict.Release
	case allSame(dicts):
		dict = dicts[0]
	default:
		var err error
		if dict, err = unify(ctx, in, dicts, t); err != nil {
			return nil, err
		}
		in.release = dict.Release
	}
	in.values = func(ids identifier) (arrow.ArrayData, error) {
		index, err := ids.values(t.IndexType, GetAllocator(ctx))
		if err != nil {
			return nil, err
		}
		defer index.Release()
		return array.NewDataWithDictionary(t, index.Len(), index.Buffers(), index.NullN(), 0, dict.(*array.Data)), nil
	}
	return in, nil
}

// allSame says that dictionaries hold the same values.
func allSame(dicts []*array.Data) bool {
	first := array.MakeFromData(dicts[0])
	defer first.Release()
	for _, d := range dicts[1:] {
		if d == dicts[0] {
			continue
		}
		other := array.MakeFromData(d)
		same := array.Equal(first, other)
		other.Release()
		if !same {
			return false
		}
	}
	return true
}

// unify makes one dictionary of several and turns the columns' indexes into its own.
func unify(ctx context.Context, in *distinctInput, dicts []*array.Data, t *arrow.DictionaryType) (arrow.ArrayData, error) {
	kind := keysOf(storageType(t.ValueType))
	fresh := newIdentifier(kind)
	if fresh == nil {
		return nil, errNoKernel
	}
	ids, final := fresh(), make([][]int32, len(dicts))
	for i, d := range dicts {
		col, err := keyColumn(d, kind)
		if err != nil {
			return nil, err
		}
		final[i] = make([]int32, col.n)
		ids.ids(final[i], &col, 0, col.n, false)
	}
	bits := uint(t.IndexType.(arrow.FixedWidthDataType).BitWidth())
	if arrow.IsSignedInteger(t.IndexType.ID()) {
		bits--
	}
	if n := ids.len(); bits < 32 && n > 1<<bits {
		return nil, fmt.Errorf("%w: %d values of several dictionaries do not fit indexes of %s", arrow.ErrInvalid, n, t.IndexType)
	}
	for i := range in.cols {
		c := &in.cols[i]
		var err error
		switch in.kind {
		case keys8:
			err = reindex[uint8](c, final[i])
		case keys16:
			err = reindex[uint16](c, final[i])
		case keys32:
			err = reindex[uint32](c, final[i])
		default:
			err = reindex[uint64](c, final[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return ids.values(t.ValueType, GetAllocator(ctx))
}

// reindex gives a column of indexes new ones, in memory of its own.
func reindex[T hash.Key](c *column, final []int32) error {
	old, own := view[T](c.data(0), c.n), make([]T, c.n)
	for i, v := range old {
		switch {
		case !c.valid.Bit(i):
		case uint64(v) >= uint64(len(final)):
			return fmt.Errorf("%w: index %d of a dictionary of %d values", arrow.ErrInvalid, v, len(final))
		default:
			own[i] = T(final[v])
		}
	}
	c.values, c.off, c.valueBuf = bytesOfAll(own), 0, nil
	return nil
}
