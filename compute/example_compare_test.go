package compute_test

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleEqualDatum() {
	show(compute.EqualDatum(ctx, datum(i64, "[1, 2, null]"), compute.NewDatum(int64(2))))
	// Output: [false true (null)]
}

// Text compares by its bytes, whatever its layout.
func ExampleEqualDatum_text() {
	show(compute.EqualDatum(ctx, datum(arrow.BinaryTypes.StringView, `["ORD", "ATL", null]`), compute.NewDatum("ORD")))
	// Output: [true false (null)]
}

func ExampleEqualArray() {
	showArray(compute.EqualArray(ctx, column(i64, "[1, 2, null]"), column(i64, "[2, 2, 2]")))
	// Output: [false true (null)]
}

func ExampleNotEqualDatum() {
	show(compute.NotEqualDatum(ctx, datum(i64, "[1, 2, null]"), compute.NewDatum(int64(2))))
	// Output: [true false (null)]
}

func ExampleNotEqualArray() {
	showArray(compute.NotEqualArray(ctx, column(i64, "[1, 2, null]"), column(i64, "[2, 2, 2]")))
	// Output: [true false (null)]
}

func ExampleGreaterDatum() {
	show(compute.GreaterDatum(ctx, datum(i64, "[1, 2, null]"), compute.NewDatum(int64(2))))
	// Output: [false false (null)]
}

func ExampleGreaterArray() {
	showArray(compute.GreaterArray(ctx, column(i64, "[1, 2, null]"), column(i64, "[2, 2, 2]")))
	// Output: [false false (null)]
}

func ExampleGreaterEqualDatum() {
	show(compute.GreaterEqualDatum(ctx, datum(i64, "[1, 2, null]"), compute.NewDatum(int64(2))))
	// Output: [false true (null)]
}

func ExampleGreaterEqualArray() {
	showArray(compute.GreaterEqualArray(ctx, column(i64, "[1, 2, null]"), column(i64, "[2, 2, 2]")))
	// Output: [false true (null)]
}

func ExampleLessDatum() {
	show(compute.LessDatum(ctx, datum(i64, "[1, 2, null]"), compute.NewDatum(int64(2))))
	// Output: [true false (null)]
}

func ExampleLessArray() {
	showArray(compute.LessArray(ctx, column(i64, "[1, 2, null]"), column(i64, "[2, 2, 2]")))
	// Output: [true false (null)]
}

func ExampleLessEqualDatum() {
	show(compute.LessEqualDatum(ctx, datum(i64, "[1, 2, null]"), compute.NewDatum(int64(2))))
	// Output: [true true (null)]
}

func ExampleLessEqualArray() {
	showArray(compute.LessEqualArray(ctx, column(i64, "[1, 2, null]"), column(i64, "[2, 2, 2]")))
	// Output: [true true (null)]
}
