package compute

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/order"
	"github.com/broadhead-go/broadhead/compute/internal/strs"
)

// sortColumn is a column that rows are ordered by: its chunks, of a type that is no dictionary and no extension.
type sortColumn struct {
	typ     arrow.DataType
	chunks  []arrow.ArrayData
	n       int
	workers int
}

// key makes the numbers or strings that order like the column's rows.
func (c *sortColumn) key() (k order.Key, err error) {
	if c.typ.ID() != arrow.NULL {
		c.nulls(&k)
	}
	switch c.typ.ID() {
	case arrow.NULL:
		k.Classes = make([]order.Class, c.n)
		for i := range k.Classes {
			k.Classes[i] = order.Null
		}
	case arrow.BOOL:
		err = c.bits(&k)
	case arrow.INT8:
		err = shortKey(c, &k, func(v int8) (uint32, order.Class) { return uint32(v) ^ 1<<31, 0 })
	case arrow.INT16:
		err = shortKey(c, &k, func(v int16) (uint32, order.Class) { return uint32(v) ^ 1<<31, 0 })
	case arrow.INT32, arrow.DATE32, arrow.TIME32, arrow.DECIMAL32, arrow.INTERVAL_MONTHS:
		err = shortKey(c, &k, func(v int32) (uint32, order.Class) { return uint32(v) ^ 1<<31, 0 })
	case arrow.UINT8:
		err = shortKey(c, &k, func(v uint8) (uint32, order.Class) { return uint32(v), 0 })
	case arrow.UINT16:
		err = shortKey(c, &k, func(v uint16) (uint32, order.Class) { return uint32(v), 0 })
	case arrow.UINT32:
		err = shortKey(c, &k, func(v uint32) (uint32, order.Class) { return v, 0 })
	case arrow.FLOAT16:
		err = shortKey(c, &k, halfKey)
	case arrow.FLOAT32:
		err = shortKey(c, &k, singleKey)
	case arrow.INT64, arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION, arrow.DECIMAL64:
		err = wordKey(c, &k, func(v int64) (uint64, order.Class) { return uint64(v) ^ 1<<63, 0 })
	case arrow.UINT64:
		err = wordKey(c, &k, func(v uint64) (uint64, order.Class) { return v, 0 })
	case arrow.FLOAT64:
		err = wordKey(c, &k, doubleKey)
	case arrow.INTERVAL_DAY_TIME: // days, then milliseconds
		err = wordKey(c, &k, func(v uint64) (uint64, order.Class) { return v<<32 | v>>32 ^ 1<<63 ^ 1<<31, 0 })
	case arrow.INTERVAL_MONTH_DAY_NANO: // months, days, nanoseconds
		err = c.wide(&k, 2, func(b []byte, words []uint64) {
			first, nanos := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			words[0], words[1] = first<<32|first>>32^1<<63^1<<31, nanos^1<<63
		})
	case arrow.DECIMAL128, arrow.DECIMAL256:
		n := c.typ.(arrow.FixedWidthDataType).BitWidth() / 64
		err = c.wide(&k, n, func(b []byte, words []uint64) {
			for i := range n {
				words[n-1-i] = binary.LittleEndian.Uint64(b[8*i:])
			}
			words[0] ^= 1 << 63
		})
	default:
		if !isStrings(c.typ) {
			return k, fmt.Errorf("%w: sorting not supported for type %s", arrow.ErrNotImplemented, c.typ)
		}
		err = c.strings(&k)
	}
	return k, err
}

// halfKey, singleKey and doubleKey order floats: the bits of negative ones turned around, -0 as 0.
func halfKey(v uint16) (uint32, order.Class) {
	switch {
	case v&0x7fff > 0x7c00:
		return 0, order.NaN
	case v == 0x8000:
		v = 0
	}
	return uint32(v ^ (uint16(int16(v)>>15) | 0x8000)), order.Value
}

func singleKey(f float32) (uint32, order.Class) {
	if f != f {
		return 0, order.NaN
	}
	v := math.Float32bits(f + 0)
	if f == 0 {
		v = 0
	}
	return v ^ (uint32(int32(v)>>31) | 1<<31), order.Value
}

func doubleKey(f float64) (uint64, order.Class) {
	if f != f {
		return 0, order.NaN
	}
	v := math.Float64bits(f)
	if f == 0 {
		v = 0
	}
	return v ^ (uint64(int64(v)>>63) | 1<<63), order.Value
}

// nulls marks the rows that are null.
func (c *sortColumn) nulls(k *order.Key) {
	row := 0
	for _, d := range c.chunks {
		if nullsOf(d) > 0 {
			if k.Classes == nil {
				k.Classes = make([]order.Class, c.n)
			}
			valid := cpu.Bitmap{Data: d.Buffers()[0].Bytes(), Off: d.Offset()}
			for i := range d.Len() {
				if !valid.Bit(i) {
					k.Classes[row+i] = order.Null
				}
			}
		}
		row += d.Len()
	}
}

// eachMorsel calls f for ranges of rows of each chunk, at once: rows [start, end) of the chunk, the first of which is
// row number first of the column.
func eachMorsel[T any](c *sortColumn, f func(values []T, first int)) error {
	row := 0
	for _, d := range c.chunks {
		var t T
		col, err := columnOf(d, byWidth[unsafe.Sizeof(t)], false)
		if err != nil {
			return err
		}
		values := view[T](col.data(0), col.n)
		cpu.Parallel(col.n, mapMorsel, c.workers, func(_, start, end int) { f(values[start:end], row+start) })
		row += col.n
	}
	return nil
}

// shortKey makes a word of 32 bits of every row.
func shortKey[T any](c *sortColumn, k *order.Key, f func(v T) (uint32, order.Class)) error {
	k.Short = make([]uint32, c.n)
	return encode(c, k, func(row int, v T) (class order.Class) {
		k.Short[row], class = f(v)
		return class
	})
}

// wordKey makes a word of 64 bits of every row.
func wordKey[T any](c *sortColumn, k *order.Key, f func(v T) (uint64, order.Class)) error {
	words := make([]uint64, c.n)
	k.Words = [][]uint64{words}
	return encode(c, k, func(row int, v T) (class order.Class) {
		words[row], class = f(v)
		return class
	})
}

// encode calls f for every row, valid or not, and marks the valid ones that are NaN.
func encode[T any](c *sortColumn, k *order.Key, f func(row int, v T) order.Class) error {
	var nan atomic.Bool
	err := eachMorsel(c, func(values []T, first int) {
		seen := order.Value
		for i, v := range values {
			seen |= f(first+i, v)
		}
		if seen != order.Value {
			nan.Store(true)
		}
	})
	if err != nil || !nan.Load() {
		return err
	}
	if k.Classes == nil {
		k.Classes = make([]order.Class, c.n)
	}
	return eachMorsel(c, func(values []T, first int) {
		for i, v := range values {
			if k.Classes[first+i] == order.Value {
				k.Classes[first+i] = f(first+i, v)
			}
		}
	})
}

func (c *sortColumn) bits(k *order.Key) error {
	k.Short = make([]uint32, c.n)
	row := 0
	for _, d := range c.chunks {
		col, err := keyColumn(d, boolKeys)
		if err != nil {
			return err
		}
		bits := col.bits()
		for i := range col.n {
			if bits.Bit(i) {
				k.Short[row+i] = 1
			}
		}
		row += col.n
	}
	return nil
}

// wide makes n words of every row, the first of which decides.
func (c *sortColumn) wide(k *order.Key, n int, f func(b []byte, words []uint64)) error {
	k.Words = make([][]uint64, n)
	for i := range k.Words {
		k.Words[i] = make([]uint64, c.n)
	}
	row := 0
	for _, d := range c.chunks {
		col, err := keyColumn(d, stringKeys)
		if err != nil {
			return err
		}
		words := make([]uint64, n)
		for i := range col.n {
			f(col.strs.At(i), words)
			for j, w := range words {
				k.Words[j][row+i] = w
			}
		}
		row += col.n
	}
	return nil
}

func (c *sortColumn) strings(k *order.Key) error {
	columns, ends := make([]*strs.Column, 0, len(c.chunks)), make([]int, 0, len(c.chunks))
	row := 0
	for _, d := range c.chunks {
		if d.Len() == 0 {
			continue
		}
		col, err := keyColumn(d, stringKeys)
		if err != nil {
			return err
		}
		row += col.n
		columns, ends = append(columns, col.strs), append(ends, row)
	}
	if len(columns) == 1 {
		k.Strings = columns[0].At
		return nil
	}
	k.Strings = func(row int) []byte {
		at, first := 0, 0
		for lo, hi := 0, len(ends); lo < hi; { // the first chunk that ends behind the row
			if mid := (lo + hi) / 2; ends[mid] > row {
				hi, at = mid, mid
			} else {
				lo, first = mid+1, ends[mid]
			}
		}
		return columns[at].At(row - first)
	}
	return nil
}
