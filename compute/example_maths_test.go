package compute_test

import (
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

var (
	check     = compute.ArithmeticOptions{}
	unchecked = compute.ArithmeticOptions{NoCheckOverflow: true}
)

func ExampleAbsoluteValue() {
	show(compute.AbsoluteValue(ctx, check, datum(i64, "[-3, 4, null]")))
	// Output: [3 4 (null)]
}

func ExampleNegate() {
	show(compute.Negate(ctx, check, datum(i64, "[-3, 4, null]")))
	// Output: [3 -4 (null)]
}

func ExampleSign() {
	show(compute.Sign(ctx, datum(i64, "[-3, 0, 4]")))
	// Output: [-1 0 1]
}

func ExampleShiftLeft() {
	show(compute.ShiftLeft(ctx, check, datum(i64, "[1, 3]"), datum(i64, "[4, 1]")))
	// Output: [16 6]
}

func ExampleShiftRight() {
	show(compute.ShiftRight(ctx, check, datum(i64, "[16, -7]"), datum(i64, "[2, 1]")))
	// Output: [4 -4]
}

func ExampleRound() {
	show(compute.Round(ctx, compute.RoundOptions{NDigits: 1, Mode: compute.RoundHalfToEven}, datum(f64, "[1.25, -1.35, 2]")))
	// Output: [1.2 -1.4 2]
}

func ExampleRoundToMultiple() {
	quarter := compute.RoundToMultipleOptions{Multiple: scalar.NewFloat64Scalar(0.25), Mode: compute.RoundDown}
	show(compute.RoundToMultiple(ctx, quarter, datum(f64, "[1.3, 1.24, -0.1]")))
	// Output: [1.25 1 -0.25]
}

func ExampleSin() {
	show(compute.Sin(ctx, check, datum(f64, "[0]")))
	// Output: [0]
}

func ExampleCos() {
	show(compute.Cos(ctx, check, datum(f64, "[0]")))
	// Output: [1]
}

func ExampleTan() {
	show(compute.Tan(ctx, check, datum(f64, "[0]")))
	// Output: [0]
}

func ExampleAsin() {
	show(compute.Asin(ctx, unchecked, datum(f64, "[0, 2]")))
	// Output: [0 NaN]
}

func ExampleAcos() {
	show(compute.Acos(ctx, check, datum(f64, "[1]")))
	// Output: [0]
}

func ExampleAtan() {
	show(compute.Atan(ctx, datum(f64, "[0]")))
	// Output: [0]
}

func ExampleAtan2() {
	show(compute.Atan2(ctx, datum(f64, "[0]"), datum(f64, "[1]")))
	// Output: [0]
}

func ExampleLn() {
	show(compute.Ln(ctx, unchecked, datum(f64, "[1, 0]")))
	// Output: [0 -Inf]
}

func ExampleLog10() {
	show(compute.Log10(ctx, check, datum(f64, "[1000]")))
	// Output: [3]
}

func ExampleLog2() {
	show(compute.Log2(ctx, check, datum(f64, "[8]")))
	// Output: [3]
}

func ExampleLog1p() {
	show(compute.Log1p(ctx, check, datum(f64, "[0]")))
	// Output: [0]
}

func ExampleLogb() {
	show(compute.Logb(ctx, check, datum(f64, "[16]"), compute.NewDatum(2.0)))
	// Output: [4]
}

func ExamplePower() {
	show(compute.Power(ctx, check, datum(i64, "[2, 3]"), datum(i64, "[10, 2]")))
	// Output: [1024 9]
}
