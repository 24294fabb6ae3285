package golden

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

func parse(t *testing.T, typ arrow.DataType, text string) arrow.Array {
	t.Helper()
	arr, _, err := array.FromJSON(mem, typ, strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s %s: %v", typ, text, err)
	}
	return arr
}

func floats(vs ...float64) compute.Datum {
	b := array.NewFloat64Builder(mem)
	b.AppendValues(vs, nil)
	return compute.NewDatum(b.NewArray())
}

func floats32(vs ...float32) compute.Datum {
	b := array.NewFloat32Builder(mem)
	b.AppendValues(vs, nil)
	return compute.NewDatum(b.NewArray())
}

func TestCompareDatums(t *testing.T) {
	ints := func(text string) compute.Datum { return compute.NewDatum(parse(t, arrow.PrimitiveTypes.Int64, text)) }
	datum := func(typ arrow.DataType, text string) compute.Datum { return compute.NewDatum(parse(t, typ, text)) }
	chunks := func(texts ...string) compute.Datum {
		var arrs []arrow.Array
		for _, s := range texts {
			arrs = append(arrs, parse(t, arrow.PrimitiveTypes.Int64, s))
		}
		return compute.NewDatum(arrow.NewChunked(arrow.PrimitiveTypes.Int64, arrs))
	}
	one := func(s scalar.Scalar) compute.Datum { return compute.NewDatum(s) }
	negZero, nan := math.Copysign(0, -1), math.NaN()
	next := func(v float64, n int) float64 {
		for range n {
			v = math.Nextafter(v, math.Inf(1))
		}
		return v
	}
	ms := &arrow.TimestampType{Unit: arrow.Millisecond}
	msUTC := &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	pair := arrow.StructOf(arrow.Field{Name: "min", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		arrow.Field{Name: "max", Type: arrow.PrimitiveTypes.Float64, Nullable: true})
	list := arrow.ListOf(arrow.PrimitiveTypes.Float64)
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}

	for _, test := range []struct {
		name      string
		want, got compute.Datum
		tolerance string
		equal     bool
	}{
		{"same", ints("[1, null, 3]"), ints("[1, null, 3]"), "exact", true},
		{"wrong value", ints("[1, null, 3]"), ints("[1, null, 4]"), "exact", false},
		{"null where a value is", ints("[1, 2]"), ints("[1, null]"), "exact", false},
		{"value where null is", ints("[1, null]"), ints("[1, 2]"), "exact", false},
		{"too short", ints("[1, 2]"), ints("[1]"), "exact", false},
		{"too long", ints("[1]"), ints("[1, 2]"), "exact", false},
		{"wrong type", ints("[1]"), datum(arrow.PrimitiveTypes.Int32, "[1]"), "exact", false},
		{"null type", datum(arrow.Null, "[null]"), ints("[null]"), "exact", false},
		{"nulls of the null type", datum(arrow.Null, "[null]"), datum(arrow.Null, "[null]"), "exact", true},
		{"zone", datum(ms, "[0]"), datum(msUTC, "[0]"), "exact", false},

		{"chunked otherwise", chunks("[1, 2]", "[3]"), chunks("[1]", "[]", "[2, 3]"), "exact", true},
		{"no chunks", chunks(), chunks("[]"), "exact", true},
		{"array for chunked", chunks("[1, 2]", "[3]"), ints("[1, 2, 3]"), "exact", true},
		{"chunked for array", ints("[1]"), chunks("[1]"), "exact", false},
		{"array for scalar", one(scalar.NewInt64Scalar(1)), ints("[1]"), "exact", false},
		{"scalar for array", ints("[1]"), one(scalar.NewInt64Scalar(1)), "exact", false},
		{"scalar", one(scalar.NewInt64Scalar(1)), one(scalar.NewInt64Scalar(1)), "exact", true},
		{"wrong scalar", one(scalar.NewInt64Scalar(1)), one(scalar.NewInt64Scalar(2)), "exact", false},
		{"null scalar", one(scalar.MakeNullScalar(ms)), one(scalar.MakeNullScalar(ms)), "exact", true},
		{"null scalar of another type", one(scalar.MakeNullScalar(ms)), one(scalar.MakeNullScalar(msUTC)), "exact", false},

		{"NaN", floats(nan), floats(math.Float64frombits(0xfff8000000000123)), "exact", true},
		{"NaN for a number", floats(1), floats(nan), "rel:1e9", false},
		{"number for NaN", floats(nan), floats(1), "ulp:9", false},
		{"negative zero", floats(0), floats(negZero), "exact", false},
		{"zeros under a tolerance", floats(0), floats(negZero), "ulp:1", true},
		{"1 ulp, exact", floats(1), floats(next(1, 1)), "exact", false},
		{"2 ulp of 2", floats(1), floats(next(1, 2)), "ulp:2", true},
		{"3 ulp of 2", floats(1), floats(next(1, 3)), "ulp:2", false},
		{"2 ulp across zero", floats(-5e-324), floats(5e-324), "ulp:2", true},
		{"2 ulp of 1 across zero", floats(-5e-324), floats(5e-324), "ulp:1", false},
		{"opposite signs", floats(-math.MaxFloat64), floats(math.MaxFloat64), "ulp:4", false},
		{"largest to infinity", floats(math.MaxFloat64), floats(math.Inf(1)), "ulp:4", false},
		{"float32 ulp", floats32(1), floats32(math.Nextafter32(1, 2)), "ulp:1", true},
		{"float32 ulp too far", floats32(1), floats32(1 + 4*0x1p-23), "ulp:3", false},
		{"rel", floats(100), floats(100 + 1e-9), "rel:1e-10", true},
		{"rel too far", floats(100), floats(100 + 1e-7), "rel:1e-10", false},
		{"rel of small values is absolute", floats(0), floats(1e-11), "rel:1e-10", true},
		{"rel of infinity", floats(math.Inf(1)), floats(math.Inf(-1)), "rel:1e9", false},

		{"struct", datum(pair, `[{"min": 1, "max": null}]`), datum(pair, `[{"min": 1, "max": null}]`), "exact", true},
		{"struct leaf", datum(pair, `[{"min": 1, "max": null}]`), datum(pair, `[{"min": 1, "max": 2}]`), "exact", false},
		{"null struct", datum(pair, `[null]`), datum(pair, `[{"min": null, "max": null}]`), "exact", false},
		{"struct tolerance", datum(pair, `[{"min": 1, "max": 2}]`), datum(pair, `[{"min": 1.0000000001, "max": 2}]`), "rel:1e-9", true},
		{"list", datum(list, `[[1, null], []]`), datum(list, `[[1, null], []]`), "exact", true},
		{"list leaf", datum(list, `[[1, null], []]`), datum(list, `[[1, 2], []]`), "exact", false},
		{"list length", datum(list, `[[1], []]`), datum(list, `[[1], [1]]`), "exact", false},
		{"dictionary by value", datum(dict, `["a", "b", null]`), compute.NewDatum(sliceOf(parse(t, dict, `["b", "a", "b", null]`))), "exact", true},
		{"dictionary value", datum(dict, `["a", "b"]`), datum(dict, `["a", "a"]`), "exact", false},
		{"no result", ints("[1]"), nil, "exact", false},
		{"bad tolerance", ints("[1]"), ints("[1]"), "about", false},
	} {
		err := compareDatums(test.want, test.got, test.tolerance)
		if (err == nil) != test.equal {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// sliceOf drops the first row.
func sliceOf(arr arrow.Array) arrow.Array { return array.NewSlice(arr, 1, int64(arr.Len())) }

func TestCompareTables(t *testing.T) {
	table := func(name, text string) compute.Datum {
		arr := parse(t, arrow.PrimitiveTypes.Int64, text)
		schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: arr.DataType(), Nullable: true}}, nil)
		rec := array.NewRecordBatch(schema, []arrow.Array{arr}, int64(arr.Len()))
		return compute.NewDatum(array.NewTableFromRecords(schema, []arrow.RecordBatch{rec}))
	}
	want := table("a", "[1, null]")
	for _, test := range []struct {
		name  string
		got   compute.Datum
		equal bool
	}{
		{"same", table("a", "[1, null]"), true},
		{"value", table("a", "[2, null]"), false},
		{"null", table("a", "[1, 1]"), false},
		{"name", table("b", "[1, null]"), false},
		{"rows", table("a", "[1]"), false},
		{"kind", floats(1), false},
	} {
		if err := compareDatums(want, test.got, "exact"); (err == nil) != test.equal {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestCompareErrors(t *testing.T) {
	want := &Payload{Error: "ArrowInvalid", Message: "overflow"}
	if err := compareErrors(want, nil, arrow.ErrInvalid); err != nil {
		t.Error(err)
	}
	if compareErrors(want, nil, arrow.ErrNotImplemented) == nil {
		t.Error("another class passes")
	}
	if compareErrors(want, floats(1), nil) == nil {
		t.Error("a result passes for an error")
	}
	if compareErrors(&Payload{Error: "ArrowCancelled"}, nil, arrow.ErrInvalid) == nil {
		t.Error("an unknown class passes")
	}
}
