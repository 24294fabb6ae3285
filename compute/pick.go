package compute

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// pickValidity is the validity bitmap of chosen rows, nil where all are valid.
func pickValidity(ctx context.Context, n int, choice, valid []uint64, a, b arrow.ArrayData) (*arrowmem.Buffer, error) {
	words := make([]uint64, (n+63)/64)
	blendWords(words, validWords(a, n), validWords(b, n), choice)
	for i, w := range valid {
		words[i] &= w
	}
	all := true
	for i := range words {
		all = all && (words[i] == ^uint64(0) || i == n/64 && words[i] == 1<<(n%64)-1)
	}
	if all {
		return nil, nil
	}
	buf, err := newBuffer(GetAllocator(ctx), (n+7)/8)
	if err != nil {
		return nil, err
	}
	cpu.PutWords(buf.Bytes(), words, n)
	return buf, nil
}

// pickValues makes the array of chosen rows with the given validity.
func pickValues(ctx context.Context, n int, choice []uint64, valid *arrowmem.Buffer, a, b arrow.Array) (arrow.Array, error) {
	switch t := a.DataType().(type) {
	case *arrow.NullType:
		return array.NewNull(n), nil
	case *arrow.DictionaryType:
		if !sameDictionary(a.Data(), b.Data()) {
			both, err := array.Concatenate([]arrow.Array{a, b}, GetAllocator(ctx))
			if err != nil {
				return nil, err
			}
			defer both.Release()
			a, b = array.NewSlice(both, 0, int64(n)), array.NewSlice(both, int64(n), int64(2*n))
			defer a.Release()
			defer b.Release()
		}
		return pickFixed(ctx, n, choice, valid, a.Data(), b.Data(), t.Bytes(), dictionaryOf(a.Data()))
	case *arrow.FixedSizeListType:
	case arrow.FixedWidthDataType:
		if t.BitWidth() > 0 && t.BitWidth()%8 == 0 {
			return pickFixed(ctx, n, choice, valid, a.Data(), b.Data(), t.BitWidth()/8, nil)
		}
	case arrow.BinaryDataType:
		switch {
		case t.ID() == arrow.STRING || t.ID() == arrow.BINARY:
			return pickBinary[int32](ctx, n, choice, valid, a.Data(), b.Data())
		case arrow.IsBaseBinary(t.ID()):
			return pickBinary[int64](ctx, n, choice, valid, a.Data(), b.Data())
		}
	}
	return pickRuns(ctx, n, choice, valid, a, b)
}

// pickFixed takes values of w bytes.
func pickFixed(ctx context.Context, n int, choice []uint64, valid *arrowmem.Buffer, a, b arrow.ArrayData, w int, dict *array.Data) (arrow.Array, error) {
	out, err := newBuffer(GetAllocator(ctx), n*w)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	var from [2][]byte
	for i, d := range []arrow.ArrayData{b, a} {
		bytes := d.Buffers()[1].Bytes()
		if len(bytes) < (d.Offset()+n)*w {
			return nil, shortBuffer(d, len(bytes))
		}
		from[i] = bytes[d.Offset()*w:]
	}
	eachRun(choice, n, func(chosen bool, start, rows int) error {
		src := from[0]
		if chosen {
			src = from[1]
		}
		copy(out.Bytes()[start*w:], src[start*w:(start+rows)*w])
		return nil
	})
	bufs := []*arrowmem.Buffer{valid, out}
	var data *array.Data
	if dict != nil {
		data = array.NewDataWithDictionary(a.DataType(), n, bufs, nullsUnder(valid), 0, dict)
	} else {
		data = array.NewData(a.DataType(), n, bufs, nil, nullsUnder(valid), 0)
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

func shortBuffer(d arrow.ArrayData, have int) error {
	return fmt.Errorf("%w: buffer of %d bytes is too short for %d rows of %s at offset %d",
		arrow.ErrInvalid, have, d.Len(), d.DataType(), d.Offset())
}

// pickBinary takes strings or binaries whose offsets are of type O.
func pickBinary[O int32 | int64](ctx context.Context, n int, choice []uint64, valid *arrowmem.Buffer, a, b arrow.ArrayData) (arrow.Array, error) {
	w := int(unsafe.Sizeof(O(0)))
	var offsets [2][]O
	var bytes [2][]byte
	for i, d := range []arrow.ArrayData{b, a} {
		bufs := d.Buffers()
		raw := bufs[1].Bytes()
		if len(raw) < (d.Offset()+n+1)*w {
			return nil, shortBuffer(d, len(raw))
		}
		offsets[i] = view[O](raw[d.Offset()*w:], n+1)
		if bufs[2] != nil {
			bytes[i] = bufs[2].Bytes()
		}
	}
	which := map[bool]int{true: 1}
	total := 0
	err := eachRun(choice, n, func(chosen bool, start, rows int) error {
		k := which[chosen]
		for i := start; i < start+rows; i++ {
			if o := offsets[k]; o[i] < 0 || o[i+1] < o[i] || int(o[i+1]) > len(bytes[k]) {
				return fmt.Errorf("%w: offsets %d and %d of row %d", arrow.ErrInvalid, o[i], o[i+1], i)
			}
		}
		total += int(offsets[k][start+rows] - offsets[k][start])
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case w == 4 && total > math.MaxInt32:
		return nil, fmt.Errorf("%w: %d bytes do not fit a column of %s", arrow.ErrInvalid, total, a.DataType())
	}
	ends, err := newBuffer(GetAllocator(ctx), (n+1)*w)
	if err != nil {
		return nil, err
	}
	defer ends.Release()
	text, err := newBuffer(GetAllocator(ctx), total)
	if err != nil {
		return nil, err
	}
	defer text.Release()
	out, at := view[O](ends.Bytes(), n+1), O(0)
	out[0] = 0
	eachRun(choice, n, func(chosen bool, start, rows int) error {
		k := which[chosen]
		o := offsets[k]
		first := o[start]
		copy(text.Bytes()[at:], bytes[k][first:o[start+rows]])
		for i := start; i < start+rows; i++ {
			out[i+1] = at + o[i+1] - first
		}
		at = out[start+rows]
		return nil
	})
	data := array.NewData(a.DataType(), n, []*arrowmem.Buffer{valid, ends, text}, nil, nullsUnder(valid), 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// pickRuns joins slices, for types of any make.
func pickRuns(ctx context.Context, n int, choice []uint64, valid *arrowmem.Buffer, a, b arrow.Array) (arrow.Array, error) {
	var slices []arrow.Array
	defer func() {
		for _, s := range slices {
			s.Release()
		}
	}()
	eachRun(choice, n, func(chosen bool, start, rows int) error {
		src := b
		if chosen {
			src = a
		}
		slices = append(slices, array.NewSlice(src, int64(start), int64(start+rows)))
		return nil
	})
	joined, err := array.Concatenate(slices, GetAllocator(ctx))
	if err != nil {
		return nil, err
	}
	defer joined.Release()
	d := joined.Data()
	bufs := append([]*arrowmem.Buffer{valid}, d.Buffers()[1:]...)
	data := array.NewData(d.DataType(), n, bufs, d.Children(), nullsUnder(valid), d.Offset())
	defer data.Release()
	return array.MakeFromData(data), nil
}

// nullsUnder is the number of nulls under a validity bitmap that may be absent.
func nullsUnder(valid *arrowmem.Buffer) int {
	if valid == nil {
		return 0
	}
	return array.UnknownNullCount
}
