package compute_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
)

var nestedCasts = []struct {
	of   func(arrow.DataType) arrow.DataType
	text string
}{
	{structOf, `[{"a":1},{"a":2},null,{"a":null},{"a":5}]`},
	{func(t arrow.DataType) arrow.DataType { return structOf(structOf(t)) }, `[{"a":{"a":1}},{"a":null},null,{"a":{"a":7}},{"a":{"a":8}}]`},
	{listOf, `[[1,2],[],null,[null,7],[5]]`},
	{func(t arrow.DataType) arrow.DataType { return listOf(structOf(t)) }, `[[{"a":1},{"a":2}],[],null,[{"a":null}],[{"a":5},null,{"a":6}]]`},
	{func(t arrow.DataType) arrow.DataType { return structOf(listOf(t)) }, `[{"a":[1]},{"a":null},null,{"a":[]},{"a":[8,null]}]`},
	{func(t arrow.DataType) arrow.DataType { return arrow.LargeListOf(t) }, `[[1,2],[],null,[null,7],[5]]`},
	{func(t arrow.DataType) arrow.DataType { return arrow.FixedSizeListOf(2, t) }, `[[1,2],[3,4],null,[null,7],[5,6]]`},
	{func(t arrow.DataType) arrow.DataType { return arrow.MapOf(t, t) }, `[[{"key":1,"value":2}],[],null,[{"key":3,"value":null}],[{"key":4,"value":5}]]`},
}

func structOf(t arrow.DataType) arrow.DataType {
	return arrow.StructOf(arrow.Field{Name: "a", Type: t, Nullable: true})
}

func listOf(t arrow.DataType) arrow.DataType { return arrow.ListOf(t) }

// Every slice of a nested array is cast as its rows are, and what lies outside of it neither counts nor fails.
func TestCastNested(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	ctx := compute.WithAllocator(onCPU(), mem)
	for _, c := range nestedCasts {
		from, to, narrow := c.of(arrow.PrimitiveTypes.Int32), c.of(arrow.PrimitiveTypes.Int64), c.of(arrow.PrimitiveTypes.Int8)
		in, wide, small := fromJSON(t, from, c.text), fromJSON(t, to, c.text), fromJSON(t, narrow, c.text)
		for first := range int64(6) {
			for end := first; end <= 5; end++ {
				for typ, whole := range map[arrow.DataType]arrow.Array{to: wide, narrow: small} {
					want := array.NewSlice(whole, first, end)
					out, err := compute.CastArray(ctx, array.NewSlice(in, first, end), compute.SafeCastOptions(typ))
					require.NoError(t, err)
					require.True(t, array.Equal(out, want), "%s to %s, rows %d to %d: %s, not %s", from, typ, first, end, out, want)
					out.Release()
				}
			}
		}
		chunks := arrow.NewChunked(from, []arrow.Array{array.NewSlice(in, 3, 5), array.NewSlice(in, 0, 0), in})
		out, err := compute.CastDatum(ctx, compute.NewDatumWithoutOwning(chunks), compute.SafeCastOptions(to))
		require.NoError(t, err)
		require.True(t, array.ChunkedEqual(out.(*compute.ChunkedDatum).Value,
			arrow.NewChunked(to, []arrow.Array{array.NewSlice(wide, 3, 5), wide})), from)
		out.Release()
	}
}

// A value that does not fit fails where it is a row's, and not beside the slice.
func TestCastNestedFails(t *testing.T) {
	for _, c := range []struct {
		of   func(arrow.DataType) arrow.DataType
		text string
	}{{structOf, `[{"a":1},{"a":300},{"a":2}]`}, {listOf, `[[1],[300],[2]]`}} {
		in := fromJSON(t, c.of(arrow.PrimitiveTypes.Int32), c.text)
		opts := compute.SafeCastOptions(c.of(arrow.PrimitiveTypes.Int8))
		_, err := compute.CastArray(onCPU(), in, opts)
		require.ErrorIs(t, err, arrow.ErrInvalid)
		require.ErrorContains(t, err, "300")
		for _, row := range []int64{0, 2} {
			out, err := compute.CastArray(onCPU(), array.NewSlice(in, row, row+1), opts)
			require.NoError(t, err)
			require.Equal(t, 1, out.Len())
		}
	}
}
