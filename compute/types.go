package compute

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// storage is the element type that kernels see for an Arrow type: temporal types are the integers they are stored as.
// It is msl.NoType for types that kernels do not know.
func storage(t arrow.DataType) msl.Type {
	if int(t.ID()) < len(storages) {
		return storages[t.ID()]
	}
	return msl.NoType
}

var storages = [...]msl.Type{
	arrow.BOOL:      msl.Bool,
	arrow.INT8:      msl.I8,
	arrow.INT16:     msl.I16,
	arrow.INT32:     msl.I32,
	arrow.INT64:     msl.I64,
	arrow.UINT8:     msl.U8,
	arrow.UINT16:    msl.U16,
	arrow.UINT32:    msl.U32,
	arrow.UINT64:    msl.U64,
	arrow.FLOAT32:   msl.F32,
	arrow.FLOAT64:   msl.F64,
	arrow.DATE32:    msl.I32,
	arrow.DATE64:    msl.I64,
	arrow.TIME32:    msl.I32,
	arrow.TIME64:    msl.I64,
	arrow.TIMESTAMP: msl.I64,
	arrow.DURATION:  msl.I64,
}

// widths is the size of one element in bytes; Bool, one bit, has none.
var widths = [...]int{
	msl.I8: 1, msl.I16: 2, msl.I32: 4, msl.I64: 8, msl.U8: 1, msl.U16: 2, msl.U32: 4, msl.U64: 8, msl.F32: 4, msl.F64: 8,
}

// byWidth is the unsigned type of a width in bytes, for kernels that only move values.
var byWidth = [...]msl.Type{1: msl.U8, 2: msl.U16, 4: msl.U32, 8: msl.U64}

// bytesFor is the size of n values of storage t.
func bytesFor(t msl.Type, n int) int {
	if t == msl.Bool {
		return (n + 7) / 8
	}
	return widths[t] * n
}

func isNumeric(t arrow.DataType) bool {
	s := storage(t)
	return s >= msl.I8 && !isTemporal(t)
}

func isTemporal(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return true
	}
	return false
}

func isFloat(t msl.Type) bool { return t == msl.F32 || t == msl.F64 }

func isUnsigned(t msl.Type) bool { return t >= msl.U8 && t <= msl.U64 }
