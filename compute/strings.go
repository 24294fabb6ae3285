package compute

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/strs"
	"github.com/broadhead-go/broadhead/msl"
)

// isStrings says that values of a type are byte strings: text, binaries, views of them, and those of fixed width.
func isStrings(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW,
		arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// stringColumn views array data as a column of byte strings. Array data of the null type is a column of nulls.
func stringColumn(d arrow.ArrayData) (column, error) {
	c, err := columnOf(d, msl.NoType, false)
	if err != nil {
		return c, err
	}
	c.off = 0
	c.strs, err = stringsOf(d)
	if d.DataType().ID() == arrow.NULL {
		c.valid = cpu.Bitmap{Data: make([]byte, (d.Len()+7)/8)}
	}
	return c, err
}

// stringsOf views the values of array data as byte strings of any layout that has one: those of fixed width in whole
// bytes too, so that wide decimals and intervals can be told apart. Where rows lie is for its users to check.
func stringsOf(d arrow.ArrayData) (*strs.Column, error) {
	n, off := d.Len(), d.Offset()
	if n == 0 || d.DataType().ID() == arrow.NULL {
		return strs.Fixed(n, 0, nil), nil
	}
	bufs := make([][]byte, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			bufs[i] = b.Bytes()
		}
	}
	short := func(have int) error {
		return fmt.Errorf("%w: buffer of %d bytes is too short for %d rows of %s at offset %d",
			arrow.ErrInvalid, have, n, d.DataType(), off)
	}
	if len(bufs) < 2 {
		return nil, short(0)
	}
	rows := func(width, more int) ([]byte, error) {
		if len(bufs[1])/max(width, 1) < off+n+more && width > 0 {
			return nil, short(len(bufs[1]))
		}
		return bufs[1][off*width : (off+n+more)*width], nil
	}
	switch t := storageType(d.DataType()).(type) {
	case arrow.BinaryViewDataType:
		b, err := rows(arrow.ViewHeaderSizeBytes, 0)
		if err != nil {
			return nil, err
		}
		return strs.Views(view[strs.View](alignedTo(b, 4), n), bufs[2:]), nil
	case arrow.BinaryDataType:
		width := t.Layout().Buffers[1].ByteWidth
		b, err := rows(width, 1)
		switch {
		case err != nil:
			return nil, err
		case len(bufs) < 3:
			return nil, short(0)
		case width == 4:
			return strs.Small(view[int32](alignedTo(b, 4), n+1), bufs[2]), nil
		}
		return strs.Large(view[int64](alignedTo(b, 8), n+1), bufs[2]), nil
	case arrow.FixedWidthDataType:
		width := t.BitWidth() / 8
		b, err := rows(width, 0)
		if err != nil {
			return nil, err
		}
		return strs.Fixed(n, width, b), nil
	}
	return nil, fmt.Errorf("%w: %s has no byte strings", arrow.ErrNotImplemented, d.DataType())
}

// alignedTo is b itself where it starts at a multiple of width, else a copy that does.
func alignedTo(b []byte, width uintptr) []byte {
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%width != 0 {
		return aligned(b)
	}
	return b
}

// scalarString views a scalar as a column of stride 0.
func scalarString(s scalar.Scalar) (column, error) {
	c := column{n: 1, strs: strs.One(nil)}
	if !s.IsValid() {
		c.valid = cpu.Bitmap{Data: zeroBit}
		return c, nil
	}
	b, ok := s.(scalar.BinaryScalar)
	if !ok {
		return c, fmt.Errorf("%w: scalar of type %s", arrow.ErrNotImplemented, s.DataType())
	}
	c.strs = strs.One(b.Data())
	return c, nil
}

// stringColumns views a datum as columns of byte strings, one a chunk.
func stringColumns(d Datum) ([]column, error) {
	if s, ok := d.(*ac.ScalarDatum); ok {
		c, err := scalarString(s.Value)
		return []column{c}, err
	}
	chunks := chunksOf(d)
	out := make([]column, len(chunks))
	for i, data := range chunks {
		c, err := stringColumn(data)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

var errStrings = fmt.Errorf("%w: offsets of strings do not fit their data", arrow.ErrInvalid)

// andValidity writes where both columns are valid to a new buffer of n bits; nil where all rows are.
func andValidity(mem arrowmem.Allocator, r *run, n int) (*arrowmem.Buffer, error) {
	a, b := r.cols[0].valid, r.cols[1].valid
	if a.All() && b.All() {
		return nil, nil
	}
	buf, err := newBuffer(mem, (n+7)/8)
	if err != nil {
		return nil, err
	}
	var words [2][strs.BlockRows / 64]uint64
	for i := 0; i < n; i += strs.BlockRows {
		m := min(strs.BlockRows, n-i)
		loadWords(words[0][:], a, i, m, r.cols[0].stride)
		loadWords(words[1][:], b, i, m, r.cols[1].stride)
		for k := range words[0] {
			words[0][k] &= words[1][k]
		}
		cpu.PutWords(buf.Bytes()[i/8:], words[0][:], m)
	}
	return buf, nil
}
