package compute

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// unshareType copies the types whose unit arrow-go v18.8.0 changes in place where it looks for a common one: the caller's
// own type, even one of arrow.FixedWidthTypes, would from then on have another unit.
func unshareType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.TimestampType:
		return &arrow.TimestampType{Unit: t.Unit, TimeZone: t.TimeZone}
	case *arrow.DurationType:
		return &arrow.DurationType{Unit: t.Unit}
	case *arrow.DictionaryType:
		if own := unshareType(t.ValueType); own != t.ValueType {
			return &arrow.DictionaryType{IndexType: t.IndexType, ValueType: own, Ordered: t.Ordered}
		}
	}
	return t
}

// unshare is the datum under a type of its own, or nil where it may keep the one it has.
func unshare(d Datum) Datum {
	v, ok := d.(ac.ArrayLikeDatum)
	if !ok {
		return nil
	}
	t := unshareType(v.Type())
	if t == v.Type() {
		return nil
	}
	switch v := d.(type) {
	case *ac.ArrayDatum:
		data := retype(v.Value, t)
		defer data.Release()
		return ac.NewDatum(data)
	case *ac.ChunkedDatum:
		chunks := make([]arrow.Array, len(v.Value.Chunks()))
		for i, c := range v.Value.Chunks() {
			data := retype(c.Data(), t)
			defer data.Release()
			chunks[i] = array.MakeFromData(data)
			defer chunks[i].Release()
		}
		return &ac.ChunkedDatum{Value: arrow.NewChunked(t, chunks)}
	case *ac.ScalarDatum:
		return unshareScalar(v.Value, t)
	}
	return nil
}

func unshareScalar(s scalar.Scalar, t arrow.DataType) Datum {
	if !s.IsValid() {
		return ac.NewDatum(scalar.MakeNullScalar(t))
	}
	switch s := s.(type) {
	case *scalar.Timestamp:
		return ac.NewDatum(scalar.NewTimestampScalar(s.Value, t))
	case *scalar.Duration:
		return ac.NewDatum(scalar.NewDurationScalar(s.Value, t))
	}
	return nil
}

// retype is array data under another type of the same layout.
func retype(d arrow.ArrayData, t arrow.DataType) arrow.ArrayData {
	if dict, ok := d.Dictionary().(*array.Data); ok && dict != nil {
		own := retype(dict, t.(*arrow.DictionaryType).ValueType).(*array.Data)
		defer own.Release()
		return array.NewDataWithDictionary(t, d.Len(), d.Buffers(), d.NullN(), d.Offset(), own)
	}
	return array.NewData(t, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
}
