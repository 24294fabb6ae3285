package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
)

// safeForArrow rebuilds arguments on which arrow-go v18.8.0 panics in a goroutine of its own, where nobody can recover:
// empty strings and binaries without an offsets buffer, as readers of files make them. The others pass as they are.
func safeForArrow(ctx context.Context, args []Datum) (safe []Datum, release func()) {
	safe, release = args, func() {}
	for i, a := range args {
		d := rebuilt(ctx, a)
		if d == nil {
			continue
		}
		if &safe[0] == &args[0] {
			safe = append([]Datum(nil), args...)
		}
		safe[i] = d
		before := release
		release = func() {
			d.Release()
			before()
		}
	}
	return safe, release
}

// rebuilt is a sound copy of a datum, or nil where it is sound.
func rebuilt(ctx context.Context, d Datum) Datum {
	switch v := d.(type) {
	case *ac.ArrayDatum:
		if lacksOffsets(v.Value) {
			e := emptyOf(ctx, v.Value.DataType())
			defer e.Release()
			return ac.NewDatum(e)
		}
	case *ac.ChunkedDatum:
		sound := true
		for _, c := range v.Value.Chunks() {
			sound = sound && !lacksOffsets(c.Data())
		}
		if sound {
			return nil
		}
		chunks := make([]arrow.Array, len(v.Value.Chunks()))
		for i, c := range v.Value.Chunks() {
			c.Retain()
			if lacksOffsets(c.Data()) {
				c.Release()
				c = emptyOf(ctx, c.DataType())
			}
			chunks[i] = c
			defer c.Release()
		}
		return &ac.ChunkedDatum{Value: arrow.NewChunked(v.Value.DataType(), chunks)}
	}
	return nil
}

func emptyOf(ctx context.Context, t arrow.DataType) arrow.Array {
	b := array.NewBuilder(GetAllocator(ctx), t)
	defer b.Release()
	return b.NewArray()
}

func lacksOffsets(d arrow.ArrayData) bool {
	switch d.DataType().ID() {
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY:
		b := d.Buffers()
		return d.Len() == 0 && (len(b) < 2 || b[1] == nil || b[1].Len() == 0)
	}
	return false
}
