package compute

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/msl"
)

// keyKind says how the values of a type are told apart: by bit patterns of 1, 2, 4 or 8 bytes, of which NaN is one, or as
// byte strings.
type keyKind uint8

const (
	noKeys keyKind = iota
	nullKeys
	boolKeys
	keys8
	keys16
	keys32
	keys64
	float32Keys
	float64Keys
	stringKeys
)

// keysOf is the kind of a type, which is no dictionary and no extension.
func keysOf(t arrow.DataType) keyKind {
	switch t.ID() {
	case arrow.NULL:
		return nullKeys
	case arrow.BOOL:
		return boolKeys
	case arrow.FLOAT16:
		return noKeys
	case arrow.FLOAT32:
		return float32Keys
	case arrow.FLOAT64:
		return float64Keys
	case arrow.FIXED_SIZE_LIST:
		return noKeys
	}
	if w, ok := t.(arrow.FixedWidthDataType); ok {
		switch w.BitWidth() {
		case 8:
			return keys8
		case 16:
			return keys16
		case 32:
			return keys32
		case 64:
			return keys64
		}
		if w.BitWidth()%8 == 0 && t.ID() != arrow.DICTIONARY {
			return stringKeys
		}
		return noKeys
	}
	if isStrings(t) {
		return stringKeys
	}
	return noKeys
}

// patterns is the element type that values of a kind are read as.
func (k keyKind) patterns() msl.Type {
	return [...]msl.Type{
		noKeys: msl.NoType, nullKeys: msl.NoType, boolKeys: msl.Bool, keys8: msl.U8, keys16: msl.U16, keys32: msl.U32,
		keys64: msl.U64, float32Keys: msl.U32, float64Keys: msl.U64, stringKeys: msl.NoType,
	}[k]
}

// keyColumn views array data as values of a kind.
func keyColumn(d arrow.ArrayData, k keyKind) (column, error) {
	if k == stringKeys || k == nullKeys {
		c, err := stringColumn(d)
		if err == nil && !c.strs.Check(c.valid) {
			err = errStrings
		}
		return c, err
	}
	return columnOf(d, k.patterns(), false)
}

// keyColumns views a datum as columns of a kind, one a chunk. release gives back what that took.
func keyColumns(d Datum, k keyKind) (cols []column, release func(), err error) {
	release = func() {}
	chunks := chunksOf(d)
	if s, ok := d.(*ac.ScalarDatum); ok {
		one, err := scalar.MakeArrayFromScalar(s.Value, 1, arrowmem.DefaultAllocator)
		if err != nil {
			return nil, release, err
		}
		release, chunks = one.Release, []arrow.ArrayData{one.Data()}
	}
	cols = make([]column, len(chunks))
	for i, c := range chunks {
		if cols[i], err = keyColumn(c, k); err != nil {
			release()
			return nil, func() {}, err
		}
	}
	return cols, release, nil
}

// The patterns that stand for every NaN.
var (
	nan32 = math.Float32bits(float32(math.NaN()))
	nan64 = math.Float64bits(math.NaN())
)

// oneNaN32 makes every NaN among patterns the same one.
func oneNaN32(dst, src []uint32) {
	for i, v := range src {
		if v&0x7fffffff > 0x7f800000 {
			v = nan32
		}
		dst[i] = v
	}
}

// oneNaN64 is oneNaN32 for float64.
func oneNaN64(dst, src []uint64) {
	for i, v := range src {
		if v&^(1<<63) > 0x7ff<<52 {
			v = nan64
		}
		dst[i] = v
	}
}
