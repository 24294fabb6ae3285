package compute_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
)

// encodable are values of types that dictionaries hold, as JSON with nulls and repeats.
var encodable = map[arrow.DataType]string{
	arrow.FixedWidthTypes.Boolean:              `[true, null, false, true, true, null]`,
	arrow.PrimitiveTypes.Int8:                  `[3, null, 3, -1, 0, null]`,
	arrow.PrimitiveTypes.Float64:               `[0.5, null, 0.5, -0.5, 2, null]`,
	arrow.BinaryTypes.String:                   `["a", null, "b", "a", "", null]`,
	arrow.BinaryTypes.LargeBinary:              `["YQ==", null, "Yg==", "YQ==", "", null]`,
	arrow.BinaryTypes.StringView:               `["a", null, "a string that is not in its view", "a", "", null]`,
	&arrow.FixedSizeBinaryType{ByteWidth: 3}:   `["YWFh", null, "YWFi", "YWFh", null, "YWFi"]`,
	&arrow.Decimal128Type{Precision: 9}:        `["1", null, "2", "1", null, "-7"]`,
	&arrow.Decimal32Type{Precision: 5}:         `["1", null, "2", "1", null, "-7"]`,
	arrow.FixedWidthTypes.MonthDayNanoInterval: `[{"months": 1, "days": 2, "nanoseconds": 3}, null, {"months": 1, "days": 2, "nanoseconds": 4}]`,
	&arrow.TimestampType{Unit: arrow.Second}:   `["2026-01-01", null, "2026-01-02", "2026-01-01"]`,
	arrow.Null:                                 `[null, null]`,
	arrow.PrimitiveTypes.Uint64:                `[]`,
}

// The rows of an encoded column are those of the column, and its dictionary is the distinct values in the order of first
// appearance, one for all chunks, with and without null.
func TestDictionaryEncode(t *testing.T) {
	for typ, text := range encodable {
		t.Run(typ.String(), func(t *testing.T) {
			arr, _, err := array.FromJSON(arrowmem.DefaultAllocator, typ, strings.NewReader(text))
			require.NoError(t, err)
			n := int64(arr.Len())
			parts := []arrow.Array{array.NewSlice(arr, min(1, n), n), array.NewSlice(arr, 0, 0), arr, array.NewSlice(arr, min(2, n), n)}
			chunks := arrow.NewChunked(typ, parts)
			uniques, err := compute.Unique(onCPU(), compute.NewDatumWithoutOwning(chunks))
			require.NoError(t, err)
			distinct := uniques.(*compute.ArrayDatum).MakeArray()
			for _, null := range []compute.NullEncodingBehavior{compute.NullEncodingMask, compute.NullEncodingEncode} {
				out, err := compute.DictionaryEncode(onCPU(), compute.DictionaryEncodeOptions{NullEncoding: null}, compute.NewDatumWithoutOwning(chunks))
				require.NoError(t, err)
				got := out.(*compute.ChunkedDatum).Value
				require.Len(t, got.Chunks(), len(parts))
				for i, part := range parts {
					checkEncoded(t, got.Chunk(i).(*array.Dictionary), part, distinct, null)
				}
				one, err := compute.DictionaryEncodeArray(onCPU(), compute.DictionaryEncodeOptions{NullEncoding: null}, arr)
				require.NoError(t, err)
				first, err := compute.UniqueArray(onCPU(), arr)
				require.NoError(t, err)
				checkEncoded(t, one.(*array.Dictionary), arr, first, null)
			}
		})
	}
}

// isNull says so of null-typed rows too.
func isNull(a arrow.Array, i int) bool { return a.IsNull(i) || a.DataType().ID() == arrow.NULL }

func checkEncoded(t *testing.T, got *array.Dictionary, want, distinct arrow.Array, null compute.NullEncodingBehavior) {
	t.Helper()
	require.Equal(t, want.Len(), got.Len())
	for i := range want.Len() {
		if null == compute.NullEncodingMask {
			require.Equal(t, isNull(want, i), got.IsNull(i))
		} else {
			require.True(t, got.Indices().IsValid(i))
			require.Equal(t, isNull(want, i), isNull(got.Dictionary(), got.GetValueIndex(i)))
		}
		if !isNull(want, i) {
			require.Equal(t, want.ValueStr(i), got.Dictionary().ValueStr(got.GetValueIndex(i)))
		}
	}
	entries := 0
	for i := range distinct.Len() {
		if distinct.IsNull(i) && null == compute.NullEncodingMask {
			continue // the null type's one value stays
		}
		entry := array.NewSlice(got.Dictionary(), int64(entries), int64(entries+1))
		value := array.NewSlice(distinct, int64(i), int64(i+1))
		require.NoError(t, equal.Arrays(entry, value))
		entries++
	}
	require.Equal(t, entries, got.Dictionary().Len())
}

// Chunks with dictionaries of their own are told apart by value; an index that is not in its dictionary is an error.
func TestUniqueOfDictionaries(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	make := func(indexes, values string) arrow.Array {
		a, err := array.DictArrayFromJSON(arrowmem.DefaultAllocator, typ, indexes, values)
		require.NoError(t, err)
		return a
	}
	a, b := make("[1, 0, null, 1]", `["x", "y"]`), make("[0, 1, 2]", `["z", "y", "x"]`)
	chunks := compute.NewDatumWithoutOwning(arrow.NewChunked(typ, []arrow.Array{a, b, a}))
	out, err := compute.ValueCounts(onCPU(), chunks)
	require.NoError(t, err)
	counts := out.(*compute.ArrayDatum).MakeArray().(*array.Struct)
	values, n := counts.Field(0).(*array.Dictionary), counts.Field(1).(*array.Int64)
	require.Equal(t, []int64{5, 3, 2, 1}, n.Int64Values())
	for i, want := range []string{"y", "x", array.NullValueStr, "z"} {
		got := array.NullValueStr
		if values.IsValid(i) {
			got = values.Dictionary().ValueStr(values.GetValueIndex(i))
		}
		require.Equal(t, want, got)
	}
	bad := array.NewDataWithDictionary(typ, 2, []*arrowmem.Buffer{nil, arrowmem.NewBufferBytes([]byte{0, 200})}, 0, 0, b.Data().Dictionary().(*array.Data))
	mixed := arrow.NewChunked(typ, []arrow.Array{a, array.MakeFromData(bad)})
	_, err = compute.Unique(onCPU(), compute.NewDatumWithoutOwning(mixed))
	require.ErrorIs(t, err, arrow.ErrInvalid)
}
