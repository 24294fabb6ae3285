package computetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

// Form is how a datum holds its values.
type Form uint8

// The forms of a datum, in the order in which they decide the form of a result.
const (
	Scalar Form = iota
	Array
	Chunked
)

// Column is what the oracle computes with: rows as boxed values. A row is nil for null, else a bool, an int64 for signed
// integers and temporal types, a uint64, a float32, a float64, a string, or a []any for a struct.
type Column struct {
	Type arrow.DataType
	Form Form
	Rows []any
}

// layout is how rows are laid out in memory.
type layout struct {
	offset int   // rows before the first in each array
	cuts   []int // lengths of the chunks of a Chunked column
	under  func() any
	mem    memory.Allocator
}

// datum builds the column as a datum that the caller releases.
func (c *Column) datum(l *layout) compute.Datum {
	switch c.Form {
	case Scalar:
		return compute.NewDatumWithoutOwning(c.scalar(l))
	case Array:
		arr := c.array(c.Rows, l)
		defer arr.Release()
		return compute.NewDatum(arr)
	}
	var chunks []arrow.Array
	at := 0
	for _, n := range l.cuts {
		arr := c.array(c.Rows[at:at+n], l)
		defer arr.Release()
		chunks = append(chunks, arr)
		at += n
	}
	chunked := arrow.NewChunked(c.Type, chunks)
	defer chunked.Release()
	return compute.NewDatum(chunked)
}

func (c *Column) scalar(l *layout) scalar.Scalar {
	if st, ok := c.Type.(*arrow.StructType); ok {
		var fields []scalar.Scalar
		for i, v := range c.Rows[0].([]any) {
			f := Column{Type: st.Field(i).Type, Rows: []any{v}}
			fields = append(fields, f.scalar(l))
		}
		return scalar.NewStructScalar(fields, st)
	}
	typ := scalarType(c.Type)
	if c.Rows[0] == nil {
		return scalar.MakeNullScalar(typ)
	}
	arr := (&Column{Type: typ}).array(c.Rows, &layout{under: l.under, mem: memory.DefaultAllocator})
	defer arr.Release()
	s, err := scalar.GetScalar(arr, 0)
	if err != nil {
		panic(err)
	}
	return s
}

// array builds rows as an array that starts offset rows into its buffers, as a slice of a slice where it can.
func (c *Column) array(rows []any, l *layout) arrow.Array {
	const behind = 3
	all := make([]any, 0, l.offset+len(rows)+behind)
	for range l.offset {
		all = append(all, l.under())
	}
	all = append(all, rows...)
	for range behind {
		all = append(all, nil)
	}
	if l.offset == 0 {
		all = all[:len(rows)]
	}
	whole := c.whole(all, l)
	if l.offset == 0 {
		return whole
	}
	defer whole.Release()
	first := l.offset / 2
	outer := array.NewSlice(whole, int64(first), int64(len(all)))
	defer outer.Release()
	start := int64(l.offset - first)
	return array.NewSlice(outer, start, start+int64(len(rows)))
}

// whole builds an array at offset 0. Nulls hide values; no null means no bitmap.
func (c *Column) whole(rows []any, l *layout) arrow.Array {
	switch t := c.Type.(type) {
	case *arrow.NullType:
		return array.NewNull(len(rows))
	case *arrow.DictionaryType:
		return c.dictionary(t, rows, l)
	case *arrow.StructType:
		return structs(t, rows, l)
	}
	b := array.NewBuilder(l.mem, storageType(c.Type))
	defer b.Release()
	b.Reserve(len(rows))
	for _, v := range rows {
		if v == nil {
			v = l.under()
		}
		appendValue(b, v)
	}
	values := b.NewArray()
	defer values.Release()
	return withNulls(c.Type, rows, values, nil, l.mem)
}

// structs builds valid structs.
func structs(t *arrow.StructType, rows []any, l *layout) arrow.Array {
	fields := make([]arrow.ArrayData, t.NumFields())
	for i := range fields {
		src := source{rng: rand.New(rand.NewPCG(0, 0)), t: t.Field(i).Type}
		f := Column{Type: t.Field(i).Type}
		for _, v := range rows {
			f.Rows = append(f.Rows, v.([]any)[i])
		}
		arr := f.array(f.Rows, &layout{under: src.bait, mem: l.mem})
		defer arr.Release()
		fields[i] = arr.Data()
	}
	data := array.NewData(t, len(rows), []*memory.Buffer{nil}, fields, 0, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// withNulls is an array of type t over the buffers of values, null where rows are nil.
func withNulls(t arrow.DataType, rows []any, values arrow.Array, dict arrow.ArrayData, mem memory.Allocator) arrow.Array {
	nulls := 0
	for _, v := range rows {
		if v == nil {
			nulls++
		}
	}
	bufs := append([]*memory.Buffer{nil}, values.Data().Buffers()[1:]...)
	if nulls > 0 {
		valid := memory.NewResizableBuffer(mem)
		defer valid.Release()
		valid.Resize((len(rows) + 7) / 8)
		clear(valid.Bytes())
		for i, v := range rows {
			if v != nil {
				valid.Bytes()[i/8] |= 1 << (i % 8)
			}
		}
		bufs[0] = valid
	}
	if nulls > 0 && len(rows)%2 == 1 {
		nulls = array.UnknownNullCount
	}
	var data *array.Data
	if dict != nil {
		data = array.NewDataWithDictionary(t, len(rows), bufs, nulls, 0, dict.(*array.Data))
	} else {
		data = array.NewData(t, len(rows), bufs, nil, nulls, 0)
	}
	defer data.Release()
	return array.MakeFromData(data)
}

// dictionary builds a dictionary that holds one value twice, so that equal values have different indexes.
func (c *Column) dictionary(t *arrow.DictionaryType, rows []any, l *layout) arrow.Array {
	entries := array.NewBuilder(l.mem, t.ValueType)
	defer entries.Release()
	index := map[any][]int{}
	add := func(v any) {
		index[v] = append(index[v], entries.Len())
		appendValue(entries, v)
	}
	for _, v := range words(t.ValueType) {
		add(v)
	}
	add(words(t.ValueType)[0])
	dict := entries.NewArray()
	defer dict.Release()
	b := array.NewBuilder(l.mem, t.IndexType)
	defer b.Release()
	for i, v := range rows {
		at := 0
		if v != nil {
			at = index[v][i%len(index[v])]
		}
		appendValue(b, int64(at))
	}
	indexes := b.NewArray()
	defer indexes.Release()
	return withNulls(t, rows, indexes, dict.Data(), l.mem)
}

// storageType is the type whose builder takes boxed values of t.
func storageType(t arrow.DataType) arrow.DataType {
	switch {
	case !isTemporal(t):
		return t
	case bitsOf(t) == 32:
		return i32
	}
	return i64
}

func appendValue(b array.Builder, v any) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Int8Builder:
		b.Append(int8(v.(int64)))
	case *array.Int16Builder:
		b.Append(int16(v.(int64)))
	case *array.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Uint8Builder:
		b.Append(uint8(v.(uint64)))
	case *array.Uint16Builder:
		b.Append(uint16(v.(uint64)))
	case *array.Uint32Builder:
		b.Append(uint32(v.(uint64)))
	case *array.Uint64Builder:
		b.Append(v.(uint64))
	case *array.Float32Builder:
		b.Append(v.(float32))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case array.StringLikeBuilder:
		b.Append(v.(string))
	case *array.BinaryBuilder:
		b.Append([]byte(v.(string)))
	case *array.BinaryViewBuilder:
		b.Append([]byte(v.(string)))
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte(v.(string)))
	default:
		panic(fmt.Sprintf("computetest: no values of type %s", b.Type()))
	}
}

// cut splits n rows into chunks, some of them empty.
func cut(rng *rand.Rand, n int) []int {
	cuts := []int{0}
	for n > 0 {
		k := 1 + rng.IntN(min(n, 700))
		cuts = append(cuts, k)
		n -= k
		if rng.IntN(3) == 0 {
			cuts = append(cuts, 0)
		}
	}
	return append(cuts, 0)
}
