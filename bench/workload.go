package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

// workload is one function with the columns it is measured on.
type workload struct {
	family    string // as benchmarks are named
	function  string // as CallFunction takes it
	inputs    []input
	crossover bool // among what the crossover command measures
}

// input is the kind of a column.
type input uint8

const (
	values input = iota // of the type that is measured
	mask                // booleans, half of them true
)

var workloads = []workload{
	{"Sum", "sum", []input{values}, true},
	{"MinMax", "min_max", []input{values}, false},
	{"Mean", "mean", []input{values}, false},
	{"Count", "count", []input{values}, false},
	{"Compare", "greater", []input{values, values}, true},
	{"Add", "add", []input{values, values}, true},
	{"Multiply", "multiply", []input{values, values}, true},
	{"Filter", "filter", []input{values, mask}, true},
	{"Logic", "and_kleene", []input{mask, mask}, false},
	{"Cast", "cast", []input{values}, false},
}

// options are those of a call: where a cast goes.
func (w *workload) options() compute.FunctionOptions {
	if w.function == "cast" {
		return compute.UnsafeCastOptions(arrow.PrimitiveTypes.Float32)
	}
	return nil
}

// numbers are the types that are measured.
var numbers = []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64}

// types are those that a workload is measured on.
func (w *workload) types() []arrow.DataType {
	for _, in := range w.inputs {
		if in == values {
			return numbers
		}
	}
	return []arrow.DataType{arrow.FixedWidthTypes.Boolean}
}

// columns are the arguments of a workload. Release them.
type columns struct {
	arrays []arrow.Array
	datums []compute.Datum
}

// columns makes the inputs in memory of mem: the same values each time, other ones for each input.
func (w *workload) columns(mem arrowmem.Allocator, t arrow.DataType, rows, nullPercent int) (*columns, error) {
	c := new(columns)
	for i, in := range w.inputs {
		typ := t
		if in == mask {
			typ = arrow.FixedWidthTypes.Boolean
		}
		a, err := makeColumn(mem, typ, rows, nullPercent, uint64(i))
		if err != nil {
			c.release()
			return nil, fmt.Errorf("%s: making %d rows: %w", w.function, rows, err)
		}
		c.arrays = append(c.arrays, a)
		c.datums = append(c.datums, compute.NewDatumWithoutOwning(a))
	}
	return c, nil
}

func (c *columns) release() {
	for _, a := range c.arrays {
		a.Release()
	}
	c.arrays, c.datums = nil, nil
}

// forgetNulls makes the number of nulls unknown, as it is in a new slice, so that to count them is work each time.
func (c *columns) forgetNulls() {
	for _, a := range c.arrays {
		a.Data().(*array.Data).SetNullN(array.UnknownNullCount)
	}
}

// makeColumn makes a column of values so small that neither sums nor products of two overflow.
func makeColumn(mem arrowmem.Allocator, t arrow.DataType, rows, nullPercent int, seed uint64) (a arrow.Array, err error) {
	// Allocators have no other way to say that there is no memory.
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(error)
			if !ok {
				panic(r)
			}
			err = errors.Join(errors.New("out of memory"), e)
		}
	}()
	rng := rand.New(rand.NewPCG(seed, uint64(rows)))
	bits := (rows + 7) / 8
	size := bits
	if f, ok := t.(arrow.FixedWidthDataType); ok && f.BitWidth() >= 8 {
		size = rows * f.BitWidth() / 8
	}
	data := newBuffer(mem, size)
	defer data.Release()
	switch t.ID() {
	case arrow.INT32:
		fill(data, func() int32 { return rng.Int32N(1000) })
	case arrow.INT64:
		fill(data, func() int64 { return rng.Int64N(1000) })
	case arrow.FLOAT64:
		fill(data, func() float64 { return rng.Float64() * 1000 })
	case arrow.BOOL:
		fill(data, func() uint8 { return uint8(rng.Uint32()) })
	default:
		return nil, fmt.Errorf("no columns of type %s", t)
	}
	var valid *arrowmem.Buffer
	if nullPercent > 0 {
		valid = newBuffer(mem, bits)
		defer valid.Release()
		fill(valid, func() (b uint8) {
			for i := range 8 {
				if rng.IntN(100) >= nullPercent {
					b |= 1 << i
				}
			}
			return b
		})
	}
	nulls := array.UnknownNullCount
	if valid == nil {
		nulls = 0
	}
	d := array.NewData(t, rows, []*arrowmem.Buffer{valid, data}, nil, nulls, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}

func newBuffer(mem arrowmem.Allocator, size int) *arrowmem.Buffer {
	b := arrowmem.NewResizableBuffer(mem)
	b.Resize(size)
	return b
}

func fill[T int32 | int64 | float64 | uint8](b *arrowmem.Buffer, next func() T) {
	values := arrow.GetData[T](b.Bytes())
	for i := range values {
		values[i] = next()
	}
}

// arrowBytes is the size of a column as Arrow means it: its values, and its validity if it has nulls.
func arrowBytes(a arrow.Array) int64 {
	size := validityBytes(a)
	if f, ok := a.DataType().(arrow.FixedWidthDataType); ok {
		size += (int64(a.Len())*int64(f.BitWidth()) + 7) / 8
	}
	return size
}

func validityBytes(a arrow.Array) int64 {
	if a.NullN() == 0 {
		return 0
	}
	return int64(a.Len()+7) / 8
}

// bytes is what a call has to read and write.
func (w *workload) bytes(c *columns, result compute.Datum) int64 {
	var n int64
	for _, a := range c.arrays {
		if w.function == "count" {
			n += validityBytes(a) // which alone says how many
			continue
		}
		n += arrowBytes(a)
	}
	if d, ok := result.(*compute.ArrayDatum); ok {
		a := d.MakeArray()
		n += arrowBytes(a)
		a.Release()
	}
	return n
}
