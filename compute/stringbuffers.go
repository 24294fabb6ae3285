package compute

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/strs"
)

// bytesOfAll are values as the bytes that they lie in.
func bytesOfAll[T any](values []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(t)))
}

// storageType is the type that an extension type is stored as.
func storageType(t arrow.DataType) arrow.DataType {
	if e, ok := t.(arrow.ExtensionType); ok {
		return storageType(e.StorageType())
	}
	return t
}

func releaseBuffers(bufs []*arrowmem.Buffer) {
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
}

// stringBuffers lays byte strings out as a type has them, after the validity.
func stringBuffers(t arrow.DataType, mem arrowmem.Allocator, values [][]byte) (bufs []*arrowmem.Buffer, err error) {
	size, long := 0, 0
	for _, v := range values {
		size += len(v)
		if len(v) > 12 {
			long += len(v)
		}
	}
	fresh := func(n int) ([]byte, error) {
		b, err := newBuffer(mem, n)
		if err != nil {
			return nil, err
		}
		bufs = append(bufs, b)
		return b.Bytes(), nil
	}
	defer func() {
		if err != nil {
			releaseBuffers(bufs)
			bufs = nil
		}
	}()
	tooLong := fmt.Errorf("%w: %d bytes of strings do not fit the offsets of %s", arrow.ErrInvalid, size, t)
	switch t := t.(type) {
	case arrow.BinaryViewDataType:
		views, err := fresh(len(values) * arrow.ViewHeaderSizeBytes)
		if err != nil {
			return nil, err
		}
		if long > math.MaxInt32 {
			return nil, tooLong
		}
		data, err := fresh(long)
		if err != nil {
			return nil, err
		}
		at := 0
		for i, v := range values {
			view[strs.View](views, len(values))[i] = strs.NewView(v, 0, int32(at))
			if len(v) > 12 {
				at += copy(data[at:], v)
			}
		}
	case arrow.BinaryDataType:
		width := t.Layout().Buffers[1].ByteWidth
		if width == 4 && size > math.MaxInt32 {
			return nil, tooLong
		}
		offsets, err := fresh((len(values) + 1) * width)
		if err != nil {
			return nil, err
		}
		data, err := fresh(size)
		if err != nil {
			return nil, err
		}
		at := 0
		for i := range len(values) + 1 {
			if width == 4 {
				view[int32](offsets, len(values)+1)[i] = int32(at)
			} else {
				view[int64](offsets, len(values)+1)[i] = int64(at)
			}
			if i < len(values) {
				at += copy(data[at:], values[i])
			}
		}
	case arrow.FixedWidthDataType:
		width := t.BitWidth() / 8
		data, err := fresh(len(values) * width)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			clear(data[i*width+copy(data[i*width:], v) : (i+1)*width])
		}
	default:
		return nil, fmt.Errorf("%w: %s has no byte strings", arrow.ErrNotImplemented, t)
	}
	return bufs, nil
}
