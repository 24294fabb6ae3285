// Package work holds what the engines are compared on: the operations, their columns, and the calls of
// compute that do them.
package work

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/compute"
)

// Op is an operation in the words of each engine. An engine whose field is empty cannot do it.
type Op struct {
	Name  string
	Types []arrow.DataType // of column a; none: the operation has one column of its own

	Function string // of compute
	ArrowGo  string // of arrow-go, where another name than Function is faster
	Args     []string
	Options  func(t arrow.DataType) compute.FunctionOptions

	SQL    string // the select list or whole tail after SELECT, with $type for the target type
	Polars string // key in polars.mjs
	Bytes  func(width float64) Traffic
	Random bool // reads at random: the floor is a gather
	Scalar bool // the result is a scalar
	Note   string
}

// Traffic is the bytes a row that an operation reads and writes.
type Traffic struct{ In, Out []float64 }

const bit = 1.0 / 8

var (
	numbers = []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64}
	wide    = numbers[1:]
)

// CastTarget is the type that the cast goes to, and its name in SQL.
func CastTarget(t arrow.DataType) (to arrow.DataType, sql string) {
	if t.ID() == arrow.INT32 {
		return arrow.PrimitiveTypes.Float64, "DOUBLE"
	}
	return arrow.PrimitiveTypes.Float32, "FLOAT"
}

// Ops is everything that is measured.
var Ops = []Op{
	{Name: "sum", Types: numbers, Function: "sum", Args: []string{"a"}, SQL: "sum(a) FROM t", Polars: "sum",
		Scalar: true, Bytes: reads(1, 0), Note: "floats: Broadhead's sum is exact, the peers' are not"},
	{Name: "mean", Types: numbers, Function: "mean", Args: []string{"a"}, SQL: "avg(a) FROM t", Polars: "mean",
		Scalar: true, Bytes: reads(1, 0)},
	{Name: "min_max", Types: numbers, Function: "min_max", Args: []string{"a"}, SQL: "min(a), max(a) FROM t", Polars: "min_max",
		Scalar: true, Bytes: reads(1, 0)},
	{Name: "compare", Types: numbers, Function: "greater", Args: []string{"a", "half"}, SQL: "a > $half FROM t", Polars: "compare",
		Bytes: func(w float64) Traffic { return Traffic{In: []float64{w}, Out: []float64{bit}} }, Note: "column > scalar"},
	{Name: "add", Types: numbers, Function: "add", ArrowGo: "add_unchecked", Args: []string{"a", "b"}, SQL: "a + b FROM t", Polars: "add",
		Bytes: reads(2, 1), Note: "Broadhead and DuckDB check for overflow; arrow-go's add_unchecked and Polars do not"},
	{Name: "multiply", Types: numbers, Function: "multiply", ArrowGo: "multiply_unchecked", Args: []string{"a", "b"}, SQL: "a * b FROM t",
		Polars: "multiply", Bytes: reads(2, 1), Note: "checked as add is"},
	{Name: "cast", Types: numbers, Function: "cast", Args: []string{"a"}, Polars: "cast", SQL: "CAST(a AS $type) FROM t",
		Options: func(t arrow.DataType) compute.FunctionOptions {
			to, _ := CastTarget(t)
			return compute.UnsafeCastOptions(to)
		},
		Bytes: func(w float64) Traffic { return Traffic{In: []float64{w}, Out: []float64{12 - w}} },
		Note:  "int32 to float64, int64 and float64 to float32, unchecked"},
	{Name: "filter", Types: numbers, Function: "filter", Args: []string{"a", "mask"}, SQL: "a FROM t WHERE mask", Polars: "filter",
		Options: func(arrow.DataType) compute.FunctionOptions { return compute.DefaultFilterOptions() },
		Bytes:   func(w float64) Traffic { return Traffic{In: []float64{w, bit}, Out: []float64{w / 2}} },
		Note:    "a random half of the rows stays"},
	{Name: "cumulative_sum", Types: wide, Function: "cumulative_sum", Args: []string{"a"}, Polars: "cumulative_sum",
		SQL:     "sum(a) OVER (ROWS UNBOUNDED PRECEDING) FROM t",
		Options: func(arrow.DataType) compute.FunctionOptions { return &compute.CumulativeOptions{SkipNulls: true} },
		Bytes:   reads(1, 1)},
	{Name: "take", Types: numbers, Function: "take", Args: []string{"a", "index"}, Polars: "take", Random: true,
		Options: func(arrow.DataType) compute.FunctionOptions { return compute.DefaultTakeOptions() },
		Bytes:   func(w float64) Traffic { return Traffic{In: []float64{w}, Out: []float64{w / 2}} },
		Note:    "half as many random int64 indexes as rows, bounds checked; DuckDB has no positional take; Polars gets uint32"},
	{Name: "string_equal", Function: "equal", Args: []string{"s", "word"}, SQL: "s = $word FROM t", Polars: "string_equal",
		Bytes: func(float64) Traffic { return Traffic{In: []float64{4, wordBytes}, Out: []float64{bit}} },
		Note:  "column of 1,000 different strings of 5 to 18 bytes = scalar"},
	{Name: "is_in", Function: "is_in", Args: []string{"k"}, SQL: "k IN ($set) FROM t", Polars: "is_in",
		Options: func(arrow.DataType) compute.FunctionOptions { return &compute.SetOptions{ValueSet: setDatum()} },
		Bytes:   func(float64) Traffic { return Traffic{In: []float64{8}, Out: []float64{bit}} },
		Note:    "int64 column, set of 100 values, a tenth of the rows hit"},
}

func reads(in, out int) func(w float64) Traffic {
	return func(w float64) (t Traffic) {
		for range in {
			t.In = append(t.In, w)
		}
		for range out {
			t.Out = append(t.Out, w)
		}
		return t
	}
}

// Agreed is what engines must agree on of a column's number of valid rows and their sum: is_in is false for a null in
// Arrow, and null elsewhere.
func (c Case) Agreed(numbers []float64) []float64 {
	if c.Name == "is_in" && len(numbers) == 2 {
		return numbers[1:]
	}
	return numbers
}
