package compute_test

import "github.com/broadhead-go/broadhead/compute"

// A null condition gives null.
func ExampleIfElse() {
	show(compute.IfElse(ctx, datum(boolean, "[true, false, null]"), datum(i64, "[1, 2, 3]"), compute.NewDatum(int64(0))))
	// Output: [1 0 (null)]
}

func ExampleIfElseArray() {
	showArray(compute.IfElseArray(ctx, column(boolean, "[true, false]"), column(i64, "[1, 2]"), column(i64, "[10, 20]")))
	// Output: [1 20]
}

func ExampleCoalesce() {
	show(compute.Coalesce(ctx, datum(i64, "[1, null, null]"), datum(i64, "[null, 2, null]"), compute.NewDatum(int64(9))))
	// Output: [1 2 9]
}

func ExampleCoalesceArray() {
	showArray(compute.CoalesceArray(ctx, column(i64, "[1, null]"), column(i64, "[7, 8]")))
	// Output: [1 8]
}

func ExampleFillNull() {
	show(compute.FillNull(ctx, datum(i64, "[1, null, 3]"), compute.NewDatum(0)))
	// Output: [1 0 3]
}

func ExampleFillNullArray() {
	showArray(compute.FillNullArray(ctx, column(i64, "[1, null]"), column(i64, "[7, 8]")))
	// Output: [1 8]
}
