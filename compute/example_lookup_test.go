package compute_test

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleIsIn() {
	opts := compute.SetOptions{ValueSet: datum(i64, "[2, 3]"), NullBehavior: compute.NullMatchingEmitNull}
	show(compute.IsIn(ctx, opts, datum(i64, "[1, 2, null]")))
	// Output: [false true (null)]
}

func ExampleIsInSet() {
	set := datum(arrow.BinaryTypes.String, `["ATL", "ORD", null]`)
	show(compute.IsInSet(ctx, set, datum(arrow.BinaryTypes.String, `["ORD", "SFO", null]`)))
	// Output: [true false true]
}

func ExampleIndexIn() {
	opts := compute.SetOptions{ValueSet: datum(i64, "[30, 20, 30]")}
	show(compute.IndexIn(ctx, opts, datum(i64, "[20, 30, 40]")))
	// Output: [1 0 (null)]
}
