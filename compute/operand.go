package compute

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/selection"
	"github.com/broadhead-go/broadhead/compute/internal/strs"
	"github.com/broadhead-go/broadhead/msl"
)

// column is a run of rows as kernels see it, or a scalar, which has one row and stride 0. It borrows its memory: whoever
// makes one keeps the array alive.
type column struct {
	values []byte // from the buffer's start
	off    int    // elements before the first row; bits for Bool
	valid  cpu.Bitmap
	n      int
	stride int
	typ    msl.Type
	strs   *strs.Column // the values where they are byte strings; off counts in them
	// owners of the memory, for commands that outlive the call
	valueBuf, validBuf *arrowmem.Buffer
}

// slice is rows [start, start+n) of the column; a scalar is its own slice.
func (c column) slice(start, n int) column {
	if c.stride == 0 {
		return c
	}
	c.off += start
	c.valid = c.valid.Slice(start)
	c.n = n
	return c
}

// data is the column's values from row start on, as bytes; not for Bool.
func (c *column) data(start int) []byte { return c.values[(c.off+start)*widths[c.typ]:] }

// bits is the column's values as a bitmap; Bool only.
func (c *column) bits() cpu.Bitmap { return cpu.Bitmap{Data: c.values, Off: c.off} }

// columnOf views array data as a column of element type t (NoType: without values), or its validity as a Bool column
// without nulls.
func columnOf(d arrow.ArrayData, t msl.Type, validity bool) (column, error) {
	c := column{off: d.Offset(), n: d.Len(), stride: 1, typ: t}
	if err := selection.CheckRows(d); err != nil {
		return c, err
	}
	bufs := d.Buffers()
	if len(bufs) > 0 && bufs[0] != nil && bufs[0].Len() > 0 && d.NullN() != 0 {
		c.validBuf = bufs[0]
		c.valid = cpu.Bitmap{Data: bufs[0].Bytes(), Off: d.Offset()}
	}
	if t == msl.NoType {
		return c, nil
	}
	if validity {
		c.values, c.valueBuf = c.valid.Data, c.validBuf
		c.valid, c.validBuf = cpu.Bitmap{}, nil
		return c, nil
	}
	if len(bufs) > 1 && bufs[1] != nil {
		c.values, c.valueBuf = bufs[1].Bytes(), bufs[1]
	}
	if need := bytesFor(t, d.Offset()+d.Len()); d.Len() > 0 && len(c.values) < need {
		return c, fmt.Errorf("%w: buffer of %d bytes is too short for %d rows of %s at offset %d",
			arrow.ErrInvalid, len(c.values), d.Len(), d.DataType(), d.Offset())
	}
	if w := uintptr(max(widths[t], 1)); uintptr(unsafe.Pointer(unsafe.SliceData(c.values)))%w != 0 {
		c.values, c.valueBuf = aligned(c.values), nil
	}
	return c, nil
}

// aligned copies values whose buffer does not start at a multiple of their width, as sliced messages can have it.
func aligned(b []byte) []byte {
	words := make([]uint64, (len(b)+7)/8)
	out := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(b))
	copy(out, b)
	return out
}

var (
	oneBit  = []byte{0xff}
	zeroBit = []byte{0}
)

// scalarColumn views a scalar of storage t as a column of stride 0.
func scalarColumn(s scalar.Scalar, t msl.Type, validity bool) (column, error) {
	c := column{n: 1, typ: t}
	bit := zeroBit
	if s.IsValid() {
		bit = oneBit
	} else {
		c.valid = cpu.Bitmap{Data: zeroBit}
	}
	if validity {
		c.values, c.valid = bit, cpu.Bitmap{}
		return c, nil
	}
	if t == msl.NoType {
		return c, nil
	}
	switch v := s.(type) {
	case *scalar.Boolean:
		c.values = zeroBit
		if v.Value {
			c.values = oneBit
		}
	case scalar.PrimitiveScalar:
		c.values = v.Data()
		if !s.IsValid() {
			c.values = make([]byte, widths[t])
		}
	default:
		return c, fmt.Errorf("%w: scalar of type %s", arrow.ErrNotImplemented, s.DataType())
	}
	return c, nil
}

// view is n bytes of b as values of type T.
func view[T any](b []byte, n int) []T {
	if n == 0 {
		return nil
	}
	var t T
	_ = b[n*int(unsafe.Sizeof(t))-1]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// dictionaryOf is the dictionary of array data, nil where it has none.
func dictionaryOf(d arrow.ArrayData) *array.Data {
	if data, ok := d.(*array.Data); ok {
		dict, _ := data.Dictionary().(*array.Data)
		return dict
	}
	return nil
}
