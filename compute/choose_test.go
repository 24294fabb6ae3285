package compute_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

// samples are types without kernels, with values as JSON.
var samples = []struct {
	t      arrow.DataType
	values []string
}{
	{arrow.BinaryTypes.String, []string{`""`, `"a"`, `"été"`, `"longer than the others"`}},
	{arrow.BinaryTypes.LargeString, []string{`"x"`, `""`, `"yz"`}},
	{arrow.BinaryTypes.Binary, []string{`"AA=="`, `""`, `"AQID"`}},
	{arrow.BinaryTypes.StringView, []string{`"a"`, `"longer than twelve bytes"`, `""`}},
	{&arrow.FixedSizeBinaryType{ByteWidth: 3}, []string{`"AQID"`, `"AAAA"`}},
	{&arrow.Decimal128Type{Precision: 10, Scale: 2}, []string{`"1.25"`, `"-7.00"`, `"0.01"`}},
	{&arrow.Decimal256Type{Precision: 40, Scale: 1}, []string{`"1.5"`, `"-7.0"`}},
	{arrow.ListOf(arrow.PrimitiveTypes.Int32), []string{`[]`, `[1]`, `[2, null, 3]`}},
	{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16), []string{`[1, 2]`, `[null, 3]`}},
	{arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}),
		[]string{`{"a": 1, "b": "x"}`, `{"a": null, "b": "y"}`}},
	{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), []string{`[]`, `[{"key": "k", "value": 1}]`}},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, []string{`"a"`, `"b"`, `"c"`}},
}

// sampled is a slice of random rows, of which some are null.
func sampled(t *testing.T, mem arrowmem.Allocator, rng *rand.Rand, typ arrow.DataType, values []string, n int) arrow.Array {
	t.Helper()
	const before = 3
	rows := make([]string, n+before)
	for i := range rows {
		rows[i] = "null"
		if rng.IntN(4) > 0 {
			rows[i] = values[rng.IntN(len(values))]
		}
	}
	whole, _, err := array.FromJSON(mem, typ, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	return array.NewSlice(whole, before, int64(len(rows)))
}

// text is a row in words.
func text(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	return a.ValueStr(i)
}

// Choices among values of any type, as arrays and beside a scalar, are those of a plain loop.
func TestChooseAnyType(t *testing.T) {
	mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	ctx := compute.WithAllocator(onCPU(), mem)
	for _, s := range samples {
		for _, n := range []int{0, 1, 64, 65, 200} {
			t.Run(fmt.Sprintf("%s/%d", s.t, n), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(n), 9))
				cond := sampled(t, mem, rng, arrow.FixedWidthTypes.Boolean, []string{"true", "false"}, n)
				defer cond.Release()
				a := sampled(t, mem, rng, s.t, s.values, n)
				defer a.Release()
				b := sampled(t, mem, rng, s.t, s.values, n)
				defer b.Release()
				check := func(name string, want func(i int) string, args ...compute.Datum) {
					t.Helper()
					out, err := compute.CallFunction(ctx, name, nil, args...)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					defer out.Release()
					got := out.(*compute.ArrayDatum).MakeArray()
					defer got.Release()
					if !arrow.TypeEqual(got.DataType(), s.t) || got.Len() != n {
						t.Fatalf("%s gives %d rows of %s", name, got.Len(), got.DataType())
					}
					for i := range n {
						if text(got, i) != want(i) {
							t.Fatalf("%s: row %d is %s, want %s", name, i, text(got, i), want(i))
						}
					}
				}
				chosen := func(other func(i int) string) func(i int) string {
					return func(i int) string {
						switch {
						case cond.IsNull(i):
							return "null"
						case cond.(*array.Boolean).Value(i):
							return text(a, i)
						}
						return other(i)
					}
				}
				first := func(i int) string {
					if a.IsNull(i) {
						return text(b, i)
					}
					return text(a, i)
				}
				c, x, y := compute.NewDatumWithoutOwning(cond), compute.NewDatumWithoutOwning(a), compute.NewDatumWithoutOwning(b)
				check("if_else", chosen(func(i int) string { return text(b, i) }), c, x, y)
				check("coalesce", first, x, y)
				check("coalesce", first, x, y, x)
				check("fill_null", first, x, y)
				if s.t.ID() == arrow.STRING {
					one := compute.NewDatum("filler")
					defer one.Release()
					check("if_else", chosen(func(int) string { return "filler" }), c, x, one)
				}
			})
		}
	}
}

// More arguments than a device takes are folded in parts.
func TestCoalesceOfManyColumns(t *testing.T) {
	ctx := onCPU()
	args := make([]compute.Datum, 21)
	for i := range args {
		rows := make([]string, len(args))
		for k := range rows {
			rows[k] = "null"
		}
		rows[i] = fmt.Sprint(i)
		a, _, err := array.FromJSON(arrowmem.DefaultAllocator, arrow.PrimitiveTypes.Int16, strings.NewReader("["+strings.Join(rows, ",")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		args[i] = compute.NewDatumWithoutOwning(a)
	}
	out, err := compute.Coalesce(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	got := out.(*compute.ArrayDatum).MakeArray().(*array.Int16)
	for i := range args {
		if got.IsNull(i) || got.Value(i) != int16(i) {
			t.Fatalf("row %d is %s", i, got.ValueStr(i))
		}
	}
}

func TestChooseErrors(t *testing.T) {
	ctx := context.Background()
	yes, one, word := compute.NewDatum(true), compute.NewDatum(int64(1)), compute.NewDatum("a")
	for name, c := range map[string]struct {
		function string
		args     []compute.Datum
		want     error
	}{
		"number as a condition":    {"if_else", []compute.Datum{one, one, one}, arrow.ErrNotImplemented},
		"types that do not meet":   {"if_else", []compute.Datum{yes, one, word}, arrow.ErrNotImplemented},
		"two arguments":            {"if_else", []compute.Datum{yes, one}, arrow.ErrInvalid},
		"no arguments":             {"coalesce", nil, arrow.ErrInvalid},
		"a fill that does not fit": {"fill_null", []compute.Datum{compute.NewDatum(int8(1)), compute.NewDatum(int64(300))}, arrow.ErrInvalid},
		"nothing to fill":          {"fill_null", []compute.Datum{one, nil}, arrow.ErrInvalid},
	} {
		_, err := compute.CallFunction(ctx, c.function, nil, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want.Error()) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}
