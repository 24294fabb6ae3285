package compute_test

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleAdd() {
	show(compute.Add(ctx, compute.ArithmeticOptions{}, datum(i64, "[1, 2, null]"), datum(i64, "[10, 20, 30]")))
	// Output: [11 22 (null)]
}

func ExampleSubtract() {
	show(compute.Subtract(ctx, compute.ArithmeticOptions{}, datum(i64, "[10, 20]"), datum(i64, "[1, 2]")))
	// Output: [9 18]
}

func ExampleMultiply() {
	show(compute.Multiply(ctx, compute.ArithmeticOptions{}, datum(i64, "[2, 3]"), datum(i64, "[5, 7]")))
	// Output: [10 21]
}

func ExampleDivide() {
	show(compute.Divide(ctx, compute.ArithmeticOptions{}, datum(i64, "[7, -7]"), datum(i64, "[2, 2]")))
	// Output: [3 -3]
}

// Overflow is an error, or wraps around where the options say so.
func ExampleAdd_overflow() {
	a, b := datum(i8, "[127]"), datum(i8, "[1]")
	_, err := compute.Add(ctx, compute.ArithmeticOptions{}, a, b)
	fmt.Println(errors.Is(err, arrow.ErrInvalid))
	show(compute.Add(ctx, compute.ArithmeticOptions{NoCheckOverflow: true}, a, b))
	// Output:
	// true
	// [-128]
}

func ExampleDivide_byZero() {
	_, err := compute.Divide(ctx, compute.ArithmeticOptions{}, datum(i64, "[1]"), datum(i64, "[0]"))
	fmt.Println(err)
	// Output: invalid: divide by zero
}
