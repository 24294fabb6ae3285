package compute_test

import (
	"fmt"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleSum() {
	show(compute.Sum(ctx, nil, datum(i64, "[1, null, 3]")))
	// Output: 4
}

// A struct is taken literally: nulls are not skipped here, so one of them makes the sum null.
func ExampleSum_options() {
	show(compute.Sum(ctx, &compute.ScalarAggregateOptions{}, datum(i64, "[1, null, 3]")))
	// Output: null
}

// Sums of floats are exact and rounded once, whatever the order of the rows.
func ExampleSum_exact() {
	show(compute.Sum(ctx, nil, datum(f64, "[1e100, 1, -1e100]")))
	// Output: 1
}

func ExampleSumArray() {
	showScalar(compute.SumArray(ctx, nil, column(i64, "[1, null, 3]")))
	// Output: 4
}

func ExampleMean() {
	show(compute.Mean(ctx, nil, datum(i64, "[1, 2, null]")))
	// Output: 1.5
}

func ExampleMeanArray() {
	showScalar(compute.MeanArray(ctx, nil, column(i64, "[1, 2, null]")))
	// Output: 1.5
}

func ExampleMin() {
	show(compute.Min(ctx, nil, datum(f64, "[2.5, null, -1]")))
	// Output: -1
}

func ExampleMinArray() {
	showScalar(compute.MinArray(ctx, nil, column(f64, "[2.5, null, -1]")))
	// Output: -1
}

func ExampleMax() {
	show(compute.Max(ctx, nil, datum(f64, "[2.5, null, -1]")))
	// Output: 2.5
}

func ExampleMaxArray() {
	showScalar(compute.MaxArray(ctx, nil, column(f64, "[2.5, null, -1]")))
	// Output: 2.5
}

func ExampleMinMax() {
	show(compute.MinMax(ctx, nil, datum(i64, "[5, 2, 9]")))
	// Output: {min:int64 = 2, max:int64 = 9}
}

func ExampleMinMaxArray() {
	showScalar(compute.MinMaxArray(ctx, nil, column(i64, "[5, 2, 9]")))
	// Output: {min:int64 = 2, max:int64 = 9}
}

func ExampleAny() {
	show(compute.Any(ctx, nil, datum(boolean, "[false, null, true]")))
	// Output: true
}

func ExampleAnyArray() {
	showScalar(compute.AnyArray(ctx, nil, column(boolean, "[false, null, true]")))
	// Output: true
}

func ExampleAll() {
	show(compute.All(ctx, nil, datum(boolean, "[true, null, false]")))
	// Output: false
}

func ExampleAllArray() {
	showScalar(compute.AllArray(ctx, nil, column(boolean, "[true, null, false]")))
	// Output: false
}

func ExampleCount() {
	show(compute.Count(ctx, nil, datum(i64, "[1, null, 3]")))
	// Output: 2
}

func ExampleCountArray() {
	showScalar(compute.CountArray(ctx, nil, column(i64, "[1, null, 3]")))
	// Output: 2
}

func ExampleCount_nulls() {
	show(compute.Count(ctx, &compute.CountOptions{Mode: compute.CountOnlyNull}, datum(i64, "[1, null, 3]")))
	// Output: 1
}

func ExampleDefaultCountOptions() {
	fmt.Println(compute.DefaultCountOptions().Mode == compute.CountOnlyValid)
	// Output: true
}

func ExampleDefaultScalarAggregateOptions() {
	fmt.Printf("%+v\n", *compute.DefaultScalarAggregateOptions())
	// Output: {SkipNulls:true MinCount:1}
}
