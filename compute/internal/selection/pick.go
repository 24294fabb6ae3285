package selection

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/output"
)

// Picker picks rows with so many goroutines, into memory of an allocator.
type Picker struct {
	Workers int
	Mem     arrowmem.Allocator
}

// Buffer is a buffer of n bytes, uninitialised.
func (p *Picker) Buffer(n int) (*arrowmem.Buffer, error) { return output.Buffer(p.Mem, n) }

// maxRows bounds offset plus length of array data, so that no size computed from them wraps.
const maxRows = math.MaxInt / 64

// CheckRows refuses array data whose offset and length cannot be, or whose validity bitmap is too short for them.
func CheckRows(d arrow.ArrayData) error {
	off, n := d.Offset(), d.Len()
	if off < 0 || n < 0 || off > maxRows || n > maxRows-off {
		return fmt.Errorf("%w: array of %d rows at offset %d", arrow.ErrInvalid, n, off)
	}
	if b := d.Buffers(); n > 0 && len(b) > 0 && b[0] != nil && b[0].Len() > 0 && 8*b[0].Len() < off+n {
		return fmt.Errorf("%w: validity bitmap of %d bytes is too short for %d rows at offset %d",
			arrow.ErrInvalid, b[0].Len(), n, off)
	}
	return nil
}

// Width is the width in bytes of values that move as such: 0 for bits, -1 for types that are not of fixed width
// or of none. Of a dictionary the indexes move, of views the headers.
func Width(t arrow.DataType) int {
	switch d := t.(type) {
	case *arrow.BooleanType:
		return 0
	case *arrow.DictionaryType:
		return Width(d.IndexType)
	case arrow.ExtensionType:
		return Width(d.StorageType())
	case arrow.BinaryViewDataType:
		return arrow.ViewHeaderSizeBytes
	case *arrow.FixedSizeListType:
		return -1
	case arrow.FixedWidthDataType:
		if w := d.BitWidth() / 8; w > 0 {
			return w
		}
	}
	return -1
}

// Pick is array data of the rows of d. Indices of fixed-width values are checked on the way; those of other types are
// the caller's to check. The caller releases the result.
func (p *Picker) Pick(d arrow.ArrayData, r *Rows) (arrow.ArrayData, error) {
	out, err := p.PickDatum(d, r)
	if err != nil {
		return nil, err
	}
	return out.Value, nil
}

// PickDatum is Pick, the result as a datum.
func (p *Picker) PickDatum(d arrow.ArrayData, r *Rows) (*ac.ArrayDatum, error) {
	if err := CheckRows(d); err != nil {
		return nil, err
	}
	if r.kept == nil && d.Len() == 0 {
		if err := r.Check(1, 0); err != nil {
			return nil, err
		}
		if r.n > 0 {
			return datumOf(p.nulls(d, r.n))
		}
	}
	if w := Width(d.DataType()); w >= 0 {
		return p.fixed(d, r, w)
	}
	return datumOf(p.other(d, r))
}

func datumOf(d arrow.ArrayData, err error) (*ac.ArrayDatum, error) {
	if err != nil {
		return nil, err
	}
	return &ac.ArrayDatum{Value: d}, nil
}

// other picks rows of types without a fixed width.
func (p *Picker) other(d arrow.ArrayData, r *Rows) (arrow.ArrayData, error) {
	switch t := d.DataType().(type) {
	case arrow.ExtensionType:
		storage := withType(d, t.StorageType())
		defer storage.Release()
		out, err := p.Pick(storage, r)
		if err != nil {
			return nil, err
		}
		defer out.Release()
		return withType(out, t), nil
	case *arrow.NullType:
		return array.NewData(t, r.n, []*arrowmem.Buffer{nil}, nil, r.n, 0), nil
	case *arrow.StringType, *arrow.BinaryType:
		return binary[int32](p, d, r)
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return binary[int64](p, d, r)
	case *arrow.ListType, *arrow.MapType:
		return list[int32](p, d, r)
	case *arrow.LargeListType:
		return list[int64](p, d, r)
	case *arrow.ListViewType:
		return p.listView(d, r, 4)
	case *arrow.LargeListViewType:
		return p.listView(d, r, 8)
	case *arrow.FixedSizeListType:
		return p.fixedSizeList(d, r, int(t.Len()))
	case *arrow.StructType:
		return p.structs(d, r)
	case *arrow.SparseUnionType:
		return p.sparseUnion(d, r)
	case *arrow.DenseUnionType:
		return p.denseUnion(d, r)
	case *arrow.RunEndEncodedType:
		return p.runEnds(d, r)
	}
	return nil, fmt.Errorf("%w: rows of type %s cannot be chosen", arrow.ErrNotImplemented, d.DataType())
}

// nulls is n nulls of the type of d, which has no rows.
func (p *Picker) nulls(d arrow.ArrayData, n int) (arrow.ArrayData, error) {
	arr := array.MakeArrayOfNull(p.Mem, d.DataType(), n)
	defer arr.Release()
	out := arr.Data()
	if dict := dictionaryOf(d); dict != nil {
		return array.NewDataWithDictionary(d.DataType(), n, out.Buffers(), out.NullN(), out.Offset(), dict), nil
	}
	out.Retain()
	return out, nil
}

// withType is array data under another type of the same layout.
func withType(d arrow.ArrayData, t arrow.DataType) arrow.ArrayData {
	if dict := dictionaryOf(d); dict != nil {
		return array.NewDataWithDictionary(t, d.Len(), d.Buffers(), d.NullN(), d.Offset(), dict)
	}
	return array.NewData(t, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
}

// dictionaryOf is the dictionary of array data, nil where it has none.
func dictionaryOf(d arrow.ArrayData) *array.Data {
	if data, ok := d.(*array.Data); ok {
		dict, _ := data.Dictionary().(*array.Data)
		return dict
	}
	return nil
}

// validOf is the validity of array data.
func validOf(d arrow.ArrayData) cpu.Bitmap {
	if b := d.Buffers(); len(b) > 0 && b[0] != nil && b[0].Len() > 0 && d.NullN() != 0 {
		return cpu.Bitmap{Data: b[0].Bytes(), Off: d.Offset()}
	}
	return cpu.Bitmap{}
}

// bufferOf is a buffer of array data that has to hold so many bytes.
func bufferOf(d arrow.ArrayData, i, size int) ([]byte, error) {
	var b []byte
	if bufs := d.Buffers(); i < len(bufs) && bufs[i] != nil {
		b = bufs[i].Bytes()
	}
	if len(b) < size {
		return nil, fmt.Errorf("%w: buffer of %d bytes is too short for %d rows of %s at offset %d",
			arrow.ErrInvalid, len(b), d.Len(), d.DataType(), d.Offset())
	}
	return b, nil
}

// childOf is rows [start, end) of a child, to be released.
func childOf(d arrow.ArrayData, i, start, end int) (arrow.ArrayData, error) {
	if i >= len(d.Children()) || start < 0 || start > end || end > d.Children()[i].Len() {
		return nil, fmt.Errorf("%w: %s has no rows %d to %d in its child %d", arrow.ErrInvalid, d.DataType(), start, end, i)
	}
	return array.NewSliceData(d.Children()[i], int64(start), int64(end)), nil
}
