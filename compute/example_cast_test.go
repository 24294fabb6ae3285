package compute_test

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleCastDatum() {
	floats := datum(f64, "[1.5, -300, null]")
	// A fraction is an error; unsafe casts cut it off and stop at the type's limits.
	show(compute.CastDatum(ctx, floats, compute.UnsafeCastOptions(arrow.PrimitiveTypes.Int8)))
	// Output: [1 -128 (null)]
}

func ExampleCastArray() {
	showArray(compute.CastArray(ctx, column(i64, "[1, 0, null]"), compute.SafeCastOptions(arrow.FixedWidthTypes.Boolean)))
	// Output: [true false (null)]
}

func ExampleCastToType() {
	showArray(compute.CastToType(ctx, column(i64, "[1, 2, 300]"), arrow.PrimitiveTypes.Float32))
	// Output: [1 2 300]
}
