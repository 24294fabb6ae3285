package roofline

import (
	"math/bits"
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// spare are the rows of the columns beyond those that are measured, so that slices at other offsets are as long.
const spare = 64

// inputs are the columns: numbers at random that no sum overflows by, half of a mask set, and as many indices as half of
// the rows.
type inputs struct {
	a, b, f, mask, at arrow.Array
}

// newInputs makes columns in memory of mem.
func newInputs(mem arrowmem.Allocator, rows int) *inputs {
	n := rows + spare
	return &inputs{
		a:    column(mem, arrow.PrimitiveTypes.Int64, n, 8*n, func(i int) uint64 { return uint64(int64(mix(i)) >> 31) }),
		b:    column(mem, arrow.PrimitiveTypes.Int64, n, 8*n, func(i int) uint64 { return uint64(int64(mix(i+n)) >> 31) }),
		f:    column(mem, arrow.PrimitiveTypes.Float64, n, 8*n, float),
		mask: column(mem, arrow.FixedWidthTypes.Boolean, n, (n+63)/64*8, mix),
		at: column(mem, arrow.PrimitiveTypes.Int64, n/2, n/2*8, func(i int) uint64 {
			hi, _ := bits.Mul64(mix(i), uint64(rows))
			return hi
		}),
	}
}

// slices are the rows from an offset on, of each column from another, but for indices.
func (in *inputs) slices(rows int, offset int64) *inputs {
	n := int64(rows)
	return &inputs{
		a: array.NewSlice(in.a, offset, offset+n), b: array.NewSlice(in.b, 3*offset, 3*offset+n),
		f: array.NewSlice(in.f, offset, offset+n), mask: array.NewSlice(in.mask, 5*offset, 5*offset+n),
		at: array.NewSlice(in.at, offset, offset+n/2),
	}
}

// copied are the same columns in memory of mem.
func (in *inputs) copied(mem arrowmem.Allocator) *inputs {
	one := func(a arrow.Array) arrow.Array {
		from := a.Data().Buffers()[1].Bytes()
		words := arrow.Uint64Traits.CastFromBytes(from[:len(from)&^7])
		return column(mem, a.DataType(), a.Len(), len(from), func(i int) uint64 { return words[i] })
	}
	return &inputs{one(in.a), one(in.b), one(in.f), one(in.mask), one(in.at)}
}

func (in *inputs) all() []arrow.Array { return []arrow.Array{in.a, in.b, in.f, in.mask, in.at} }

func (in *inputs) release() {
	for _, a := range in.all() {
		a.Release()
	}
}

// column makes one of words of 8 bytes.
func column(mem arrowmem.Allocator, t arrow.DataType, rows, size int, word func(i int) uint64) arrow.Array {
	buf := arrowmem.NewResizableBuffer(mem)
	defer buf.Release()
	buf.Resize(size)
	words := arrow.Uint64Traits.CastFromBytes(buf.Bytes())
	var all sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	for p := range parts {
		all.Go(func() {
			for i := p * len(words) / parts; i < (p+1)*len(words)/parts; i++ {
				words[i] = word(i)
			}
		})
	}
	all.Wait()
	data := array.NewData(t, rows, []*arrowmem.Buffer{nil, buf}, nil, 0, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// mix is a number at random for each i (splitmix64).
func mix(i int) uint64 {
	z := uint64(i+1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// float is one of either sign between 2^-20 and 2^20.
func float(i int) uint64 {
	m := mix(i)
	exponent := uint64(1003 + m>>52%40)
	return m<<63 | exponent<<52 | m&(1<<52-1)
}
