package compute_test

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleAndDatum() {
	show(compute.AndDatum(ctx, datum(boolean, "[true, true, null]"), datum(boolean, "[true, false, false]")))
	// Output: [true false (null)]
}

func ExampleAndArray() {
	showArray(compute.AndArray(ctx, column(boolean, "[true, true, null]"), column(boolean, "[true, false, false]")))
	// Output: [true false (null)]
}

func ExampleOrDatum() {
	show(compute.OrDatum(ctx, datum(boolean, "[true, true, null]"), datum(boolean, "[true, false, false]")))
	// Output: [true true (null)]
}

func ExampleOrArray() {
	showArray(compute.OrArray(ctx, column(boolean, "[true, true, null]"), column(boolean, "[true, false, false]")))
	// Output: [true true (null)]
}

func ExampleAndKleeneDatum() {
	show(compute.AndKleeneDatum(ctx, datum(boolean, "[true, true, null]"), datum(boolean, "[true, false, false]")))
	// Output: [true false false]
}

func ExampleAndKleeneArray() {
	showArray(compute.AndKleeneArray(ctx, column(boolean, "[true, true, null]"), column(boolean, "[true, false, false]")))
	// Output: [true false false]
}

func ExampleOrKleeneDatum() {
	show(compute.OrKleeneDatum(ctx, datum(boolean, "[true, true, null]"), datum(boolean, "[true, false, false]")))
	// Output: [true true (null)]
}

func ExampleOrKleeneArray() {
	showArray(compute.OrKleeneArray(ctx, column(boolean, "[true, true, null]"), column(boolean, "[true, false, false]")))
	// Output: [true true (null)]
}

func ExampleNotDatum() {
	show(compute.NotDatum(ctx, datum(boolean, "[true, null]")))
	// Output: [false (null)]
}

func ExampleNotArray() {
	showArray(compute.NotArray(ctx, column(boolean, "[true, null]")))
	// Output: [false (null)]
}

func ExampleIsNullDatum() {
	show(compute.IsNullDatum(ctx, nil, datum(i64, "[1, null]")))
	// Output: [false true]
}

func ExampleIsNullArray() {
	showArray(compute.IsNullArray(ctx, nil, column(i64, "[1, null]")))
	// Output: [false true]
}

func ExampleIsNotNullDatum() {
	show(compute.IsNotNullDatum(ctx, datum(i64, "[1, null]")))
	// Output: [true false]
}

func ExampleIsNotNullArray() {
	showArray(compute.IsNotNullArray(ctx, column(i64, "[1, null]")))
	// Output: [true false]
}

func ExampleIsNaNDatum() {
	show(compute.IsNaNDatum(ctx, datum(f64, "[1, null]")))
	// Output: [false false]
}

func ExampleIsNaNArray() {
	showArray(compute.IsNaNArray(ctx, column(f64, "[1, null]")))
	// Output: [false false]
}

func ExampleIsNullDatum_nan() {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues([]float64{1, math.NaN()}, nil)
	values := compute.NewDatumWithoutOwning(b.NewFloat64Array())
	show(compute.IsNullDatum(ctx, nil, values))
	show(compute.IsNullDatum(ctx, &compute.NullOptions{NanIsNull: true}, values))
	// Output:
	// [false false]
	// [false true]
}
