package work

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

func buffer(mem arrowmem.Allocator, n int) *arrowmem.Buffer {
	b := arrowmem.NewResizableBuffer(mem)
	b.Resize(n)
	return b
}

func made(t arrow.DataType, n int, valid *arrowmem.Buffer, rest ...*arrowmem.Buffer) arrow.Array {
	nulls := 0
	if valid != nil {
		nulls = array.UnknownNullCount
	}
	d := array.NewData(t, n, append([]*arrowmem.Buffer{valid}, rest...), nil, nulls, 0)
	defer d.Release()
	for _, b := range append(rest, valid) {
		if b != nil {
			b.Release()
		}
	}
	arr := array.MakeFromData(d)
	arr.NullN()
	return arr
}

// copied is an array of flat buffers in another allocator's memory.
func copied(mem arrowmem.Allocator, arr arrow.Array) arrow.Array {
	d := arr.Data()
	bufs := make([]*arrowmem.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			bufs[i] = buffer(mem, b.Len())
			copy(bufs[i].Bytes(), b.Bytes())
		}
	}
	return made(arr.DataType(), arr.Len(), bufs[0], bufs[1:]...)
}

func validity(mem arrowmem.Allocator, valid []byte) *arrowmem.Buffer {
	if valid == nil {
		return nil
	}
	b := buffer(mem, len(valid))
	copy(b.Bytes(), valid)
	return b
}

func fixed[T any](mem arrowmem.Allocator, t arrow.DataType, n int, valid []byte, fill func([]T)) arrow.Array {
	b := buffer(mem, n*int(unsafe.Sizeof(*new(T))))
	fill(unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), n))
	return made(t, n, validity(mem, valid), b)
}

func bits(mem arrowmem.Allocator, rng *rand.Rand, n int) arrow.Array {
	b := buffer(mem, (n+7)/8)
	for i := range b.Bytes() {
		b.Bytes()[i] = byte(rng.Uint32())
	}
	return made(arrow.FixedWidthTypes.Boolean, n, nil, b)
}

// lexicon is the strings of column s.
var lexicon = sync.OnceValue(func() []string {
	rng := rand.New(rand.NewPCG(1, 2))
	list := make([]string, 1000)
	for i := range list {
		w := fmt.Sprintf("%03d", i)
		for range 2 + rng.IntN(14) {
			w += string(rune('a' + rng.IntN(26)))
		}
		list[i] = w
	}
	return list
})

// wordBytes is about what a string of column s takes.
const wordBytes = 11.5

// Word is the string that column s is compared with.
func Word() string { return lexicon()[17] }

func words(mem arrowmem.Allocator, rng *rand.Rand, n int, valid []byte) arrow.Array {
	list := lexicon()
	offsets := buffer(mem, 4*(n+1))
	at := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(offsets.Bytes()))), n+1)
	var text []byte
	at[0] = 0
	for i := range n {
		text = append(text, list[rng.IntN(len(list))]...)
		at[i+1] = int32(len(text))
	}
	chars := buffer(mem, len(text))
	copy(chars.Bytes(), text)
	return made(arrow.BinaryTypes.String, n, validity(mem, valid), offsets, chars)
}

// setStep spreads the values of column k, so that no engine takes them for small.
const setStep = 1_000_003

// Set is the values that is_in looks for.
func Set() (list []int64) {
	for i := range int64(100) {
		list = append(list, i*10*setStep)
	}
	return list
}

var setDatum = sync.OnceValue(func() compute.Datum {
	b := array.NewInt64Builder(arrowmem.DefaultAllocator)
	defer b.Release()
	b.AppendValues(Set(), nil)
	arr := b.NewArray()
	defer arr.Release()
	return compute.NewDatum(arr)
})
