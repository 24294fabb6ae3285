package compute_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
)

var (
	i16   = arrow.PrimitiveTypes.Int16
	utf8  = arrow.BinaryTypes.String
	point = arrow.StructOf(
		arrow.Field{Name: "x", Type: i64, Nullable: true},
		arrow.Field{Name: "name", Type: utf8, Nullable: true},
	)
)

// everyType is a table of types, each with rows that make a column of it.
var everyType = []struct {
	typ  arrow.DataType
	rows []string // as JSON
}{
	{arrow.Null, []string{"null", "null"}},
	{boolean, []string{"true", "false", "null", "true"}},
	{arrow.PrimitiveTypes.Uint8, []string{"1", "null", "255"}},
	{i16, []string{"-1", "null", "7"}},
	{arrow.FixedWidthTypes.Float16, []string{"1.5", "null", "-2"}},
	{i64, []string{"1", "null", "-9223372036854775808"}},
	{&arrow.Decimal32Type{Precision: 7, Scale: 2}, []string{`"1.25"`, "null", `"-99.99"`}},
	{&arrow.Decimal64Type{Precision: 12, Scale: 2}, []string{`"1.25"`, "null", `"-99.99"`}},
	{&arrow.Decimal128Type{Precision: 30, Scale: 2}, []string{`"1.25"`, "null", `"-99.99"`}},
	{&arrow.Decimal256Type{Precision: 60, Scale: 2}, []string{`"1.25"`, "null", `"-99.99"`}},
	{arrow.FixedWidthTypes.MonthInterval, []string{`{"months": 5}`, "null", `{"months": -1}`}},
	{arrow.FixedWidthTypes.DayTimeInterval, []string{`{"days": 1, "milliseconds": 2}`, "null"}},
	{arrow.FixedWidthTypes.MonthDayNanoInterval, []string{`{"months": 1, "days": 2, "nanoseconds": 3}`, "null"}},
	{&arrow.FixedSizeBinaryType{ByteWidth: 3}, []string{`"YWJj"`, "null", `"eHl6"`}},
	{utf8, []string{`"one"`, `""`, "null", `"a longer string of characters"`}},
	{arrow.BinaryTypes.Binary, []string{`"YQ=="`, `""`, "null", `"YWJjZA=="`}},
	{arrow.BinaryTypes.LargeString, []string{`"one"`, `""`, "null", `"a longer string of characters"`}},
	{arrow.BinaryTypes.LargeBinary, []string{`"YQ=="`, `""`, "null", `"YWJjZA=="`}},
	{arrow.BinaryTypes.StringView, []string{`"short"`, "null", `"a string that a view does not hold"`}},
	{arrow.BinaryTypes.BinaryView, []string{`"YQ=="`, "null", `"YSBzdHJpbmcgdGhhdCBhIHZpZXcgZG9lcyBub3QgaG9sZA=="`}},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: utf8}, []string{`"a"`, "null", `"b"`, `"a"`}},
	{arrow.ListOf(i64), []string{"[1, null, 3]", "[]", "null", "[4]"}},
	{arrow.LargeListOf(utf8), []string{`["a", null]`, "[]", "null", `["bc", "", "d"]`}},
	{arrow.ListViewOf(i64), []string{"[1, null, 3]", "[]", "null", "[4]"}},
	{arrow.LargeListViewOf(utf8), []string{`["a", null]`, "[]", "null"}},
	{arrow.FixedSizeListOf(2, i64), []string{"[1, 2]", "null", "[null, 4]"}},
	{arrow.FixedSizeListOf(3, utf8), []string{`["a", "b", null]`, "null", `["", "cd", "e"]`}},
	{arrow.FixedSizeListOf(3, boolean), []string{`[true, false, null]`, "null", `[true, true, false]`}},
	{arrow.MapOf(utf8, i64), []string{`[{"key": "a", "value": 1}]`, "[]", "null", `[{"key": "b", "value": null}, {"key": "c", "value": 3}]`}},
	{point, []string{`{"x": 1, "name": "a"}`, "null", `{"x": null, "name": "bcd"}`, `{"x": 3, "name": null}`}},
	{arrow.ListOf(point), []string{`[{"x": 1, "name": "a"}, null]`, "null", "[]", `[{"x": 3, "name": "c"}]`}},
	{arrow.ListOf(arrow.ListOf(i16)), []string{"[[1], null, [2, 3]]", "null", "[[]]", "[]"}},
	{arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(utf8), Nullable: true}), []string{`{"l": ["a", "b"]}`, "null", `{"l": null}`}},
	{arrow.RunEndEncodedOf(i16, utf8), []string{`"a"`, `"a"`, "null", `"b"`}},
	{arrow.RunEndEncodedOf(i64, i64), []string{"7", "7", "7", "null", "null", "8"}},
	{extensions.NewUUIDType(), []string{`"01234567-89ab-cdef-0123-456789abcdef"`, "null"}},
	{extensions.NewBool8Type(), []string{"true", "null", "false"}},
	{arrow.SparseUnionOf([]arrow.Field{{Name: "i", Type: i64, Nullable: true}, {Name: "s", Type: utf8, Nullable: true}}, []arrow.UnionTypeCode{3, 9}),
		[]string{"[3, 1]", `[9, "a"]`, "[3, null]", `[9, "bcd"]`}},
	{arrow.DenseUnionOf([]arrow.Field{{Name: "i", Type: i64, Nullable: true}, {Name: "s", Type: utf8, Nullable: true}}, []arrow.UnionTypeCode{3, 9}),
		[]string{"[3, 1]", `[9, "a"]`, "[3, null]", `[9, "bcd"]`}},
}

// columnOfRows repeats rows to n of them, each repetition in another order.
func columnOfRows(t *testing.T, mem memory.Allocator, typ arrow.DataType, rows []string, n int) arrow.Array {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	all := make([]string, n)
	for i := range all {
		all[i] = rows[rng.IntN(len(rows))]
	}
	if _, ok := typ.(arrow.UnionType); ok {
		return unionOfRows(t, mem, typ, all)
	}
	arr, _, err := array.FromJSON(mem, typ, strings.NewReader("["+strings.Join(all, ",")+"]"))
	require.NoError(t, err, typ)
	return arr
}

// unionOfRows reads rows that are pairs of a type code and a value.
func unionOfRows(t *testing.T, mem memory.Allocator, typ arrow.DataType, rows []string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(mem, typ)
	defer b.Release()
	require.NoError(t, b.UnmarshalJSON([]byte("["+strings.Join(rows, ",")+"]")), typ)
	return b.NewArray()
}

// rowText is one row for people, and equal where rows are.
func rowText(a arrow.Array, i int) string {
	if u, ok := a.(array.Union); ok {
		return fmt.Sprintf("%d:%s", u.TypeCode(i), rowText(u.Field(u.ChildID(i)), unionRow(u, i)))
	}
	if r, ok := a.(*array.RunEndEncoded); ok {
		return rowText(r.Values(), r.GetPhysicalIndex(i))
	}
	return a.ValueStr(i)
}

func unionRow(u array.Union, i int) int {
	if d, ok := u.(*array.DenseUnion); ok {
		return int(d.ValueOffset(i))
	}
	return i
}

// nullText is what a row reads that is null because the mask or the index was.
func nullText(t arrow.DataType) string {
	if u, ok := t.(arrow.UnionType); ok {
		return fmt.Sprintf("%d:%s", u.TypeCodes()[0], array.NullValueStr)
	}
	return array.NullValueStr
}

// expectRows compares a result with the rows it should have.
func expectRows(t *testing.T, got compute.Datum, typ arrow.DataType, want []string) {
	t.Helper()
	var rows []string
	chunks := got.(compute.ArrayLikeDatum).Chunks()
	for _, c := range chunks {
		require.NoError(t, array.ValidateFull(c))
		require.True(t, arrow.TypeEqual(typ, c.DataType()), "got %s", c.DataType())
		nulls := 0
		for i := range c.Len() {
			rows = append(rows, rowText(c, i))
			if c.IsNull(i) {
				nulls++
			}
		}
		if c.DataType().ID() != arrow.NULL {
			require.Equal(t, nulls, c.NullN())
		}
		if got.Kind() == compute.KindArray {
			c.Release()
		}
	}
	require.Equal(t, want, rows)
}

// Filter and take take every type: slices, chunks, nulls in the mask and in the indices.
func TestSelectionOfEveryType(t *testing.T) {
	for path, ctx := range pathsOf(t) {
		for _, c := range everyType {
			t.Run(path+"/"+c.typ.String(), func(t *testing.T) {
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				defer mem.AssertSize(t, 0)
				ctx := compute.WithAllocator(ctx, mem)
				for _, n := range []int{0, 1, 300} {
					for _, off := range []int{0, 13} {
						whole := columnOfRows(t, memory.DefaultAllocator, c.typ, c.rows, off+n+3)
						values := array.NewSlice(whole, int64(off), int64(off+n))
						whole.Release()
						selectRows(t, ctx, values)
						values.Release()
					}
				}
			})
		}
	}
}

// selectRows filters and takes rows of an array, as it is and in chunks.
func selectRows(t *testing.T, ctx context.Context, values arrow.Array) {
	t.Helper()
	n, typ := values.Len(), values.DataType()
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	mask, maskText := randomMask(rng, n)
	defer mask.Release()
	for _, emit := range []bool{false, true} {
		opts := &compute.FilterOptions{}
		if emit {
			opts.NullSelection = compute.SelectionEmitNulls
		}
		want := []string(nil)
		for i, m := range maskText {
			switch {
			case m == "true":
				want = append(want, rowText(values, i))
			case m == "null" && emit:
				want = append(want, nullText(typ))
			}
		}
		each(t, ctx, "filter", opts, values, mask, want)
	}
	if n == 0 {
		return
	}
	indices, numbers := randomIndices(rng, n)
	defer indices.Release()
	want := make([]string, len(numbers))
	for i, at := range numbers {
		if want[i] = nullText(typ); at >= 0 {
			want[i] = rowText(values, at)
		}
	}
	each(t, ctx, "take", nil, values, indices, want)
	for _, bad := range []int64{-1, int64(n), 1 << 40} {
		index := testInts(memory.DefaultAllocator, 0, bad)
		_, err := compute.TakeArray(ctx, values, index)
		require.ErrorIs(t, err, arrow.ErrIndex)
		index.Release()
	}
}

// each calls a function with arrays and with chunks.
func each(t *testing.T, ctx context.Context, name string, opts compute.FunctionOptions, values, second arrow.Array, want []string) {
	t.Helper()
	_, union := values.DataType().(arrow.UnionType)
	for _, chunk := range []int{0, 37, 400} {
		args := borrowed(values, second)
		if chunk > 0 {
			args[1] = chunked(second, chunk)
			defer args[1].Release()
			if !union || name == "filter" { // which arrow-go cannot put together
				args[0] = chunked(values, chunk+7)
				defer args[0].Release()
			}
		}
		out, err := compute.CallFunction(ctx, name, opts, args...)
		require.NoError(t, err)
		expectRows(t, out, values.DataType(), want)
		out.Release()
	}
}

func randomMask(rng *rand.Rand, n int) (arrow.Array, []string) {
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	defer b.Release()
	text := make([]string, n)
	for i := range n {
		switch rng.IntN(5) {
		case 0:
			b.AppendNull()
			text[i] = "null"
		case 1, 2:
			b.Append(false)
			text[i] = "false"
		default:
			b.Append(true)
			text[i] = "true"
		}
	}
	return b.NewArray(), text
}

// randomIndices are twice as many as n, some null, which read -1.
func randomIndices(rng *rand.Rand, n int) (arrow.Array, []int) {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	defer b.Release()
	numbers := make([]int, 2*n)
	for i := range numbers {
		if rng.IntN(6) == 0 {
			b.AppendNull()
			numbers[i] = -1
			continue
		}
		numbers[i] = rng.IntN(n)
		b.Append(int32(numbers[i]))
	}
	return b.NewArray(), numbers
}
