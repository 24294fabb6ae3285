package compute

import (
	"context"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// arithOps are the arithmetic functions. arrow-go's names: the plain name checks, _unchecked wraps around.
var arithOps = []op{
	{
		name: "add_unchecked", arity: 2, types: addTypes, gpu: msl.Expr{Value: "add_wrap(a, b)"}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.AddWrap[int8]), loop(cpu.AddWrap[int16]), loop(cpu.AddWrap[int32]), loop(cpu.AddWrap[int64]),
			loop(cpu.AddWrap[uint8]), loop(cpu.AddWrap[uint16]), loop(cpu.AddWrap[uint32]), loop(cpu.AddWrap[uint64]),
		).and(loop(cpu.AddWrap[float32]), loop(cpu.AddWrap[float64])),
	},
	{
		name: "add", arity: 2, types: addTypes, gpu: msl.Expr{Value: "add_checked(a, b, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.AddChecked[int8]), loop(cpu.AddChecked[int16]), loop(cpu.AddChecked[int32]), loop(cpu.AddChecked[int64]),
			loop(cpu.AddChecked[uint8]), loop(cpu.AddChecked[uint16]), loop(cpu.AddChecked[uint32]), loop(cpu.AddChecked[uint64]),
		).and(loop(cpu.AddWrap[float32]), loop(cpu.AddWrap[float64])),
	},
	{
		name: "sub_unchecked", arity: 2, types: subtractTypes, gpu: msl.Expr{Value: "sub_wrap(a, b)"}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.SubWrap[int8]), loop(cpu.SubWrap[int16]), loop(cpu.SubWrap[int32]), loop(cpu.SubWrap[int64]),
			loop(cpu.SubWrap[uint8]), loop(cpu.SubWrap[uint16]), loop(cpu.SubWrap[uint32]), loop(cpu.SubWrap[uint64]),
		).and(loop(cpu.SubWrap[float32]), loop(cpu.SubWrap[float64])),
	},
	{
		name: "sub", arity: 2, types: subtractTypes, gpu: msl.Expr{Value: "sub_checked(a, b, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.SubChecked[int8]), loop(cpu.SubChecked[int16]), loop(cpu.SubChecked[int32]), loop(cpu.SubChecked[int64]),
			loop(cpu.SubChecked[uint8]), loop(cpu.SubChecked[uint16]), loop(cpu.SubChecked[uint32]), loop(cpu.SubChecked[uint64]),
		).and(loop(cpu.SubWrap[float32]), loop(cpu.SubWrap[float64])),
	},
	{
		name: "multiply_unchecked", arity: 2, types: multiplyTypes, gpu: msl.Expr{Value: "mul_wrap(a, b)"}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.MulWrap[int8]), loop(cpu.MulWrap[int16]), loop(cpu.MulWrap[int32]), loop(cpu.MulWrap[int64]),
			loop(cpu.MulWrap[uint8]), loop(cpu.MulWrap[uint16]), loop(cpu.MulWrap[uint32]), loop(cpu.MulWrap[uint64]),
		).and(loop(cpu.MulWrap[float32]), loop(cpu.MulWrap[float64])),
	},
	{
		name: "multiply", arity: 2, types: multiplyTypes, gpu: msl.Expr{Value: "mul_checked(a, b, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.MulChecked[int8]), loop(cpu.MulChecked[int16]), loop(cpu.MulChecked[int32]), loop(cpu.MulChecked[int64]),
			loop(cpu.MulChecked[uint8]), loop(cpu.MulChecked[uint16]), loop(cpu.MulChecked[uint32]), loop(cpu.MulChecked[uint64]),
		).and(loop(cpu.MulWrap[float32]), loop(cpu.MulWrap[float64])),
	},
	{
		name: "divide_unchecked", arity: 2, types: divideTypes, gpu: msl.Expr{Value: "div_wrap(a, b, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.DivWrap[int8]), loop(cpu.DivWrap[int16]), loop(cpu.DivWrap[int32]), loop(cpu.DivWrap[int64]),
			loop(cpu.DivWrap[uint8]), loop(cpu.DivWrap[uint16]), loop(cpu.DivWrap[uint32]), loop(cpu.DivWrap[uint64]),
		).and(loop(cpu.DivWrap[float32]), loop(cpu.DivWrap[float64])),
	},
	{
		name: "divide", arity: 2, types: divideTypes, gpu: msl.Expr{Value: "div_checked(a, b, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.DivChecked[int8]), loop(cpu.DivChecked[int16]), loop(cpu.DivChecked[int32]), loop(cpu.DivChecked[int64]),
			loop(cpu.DivChecked[uint8]), loop(cpu.DivChecked[uint16]), loop(cpu.DivChecked[uint32]), loop(cpu.DivChecked[uint64]),
		).and(loop(cpu.DivChecked[float32]), loop(cpu.DivChecked[float64])),
	},
}

func arithmetic(ctx context.Context, name string, opts ArithmeticOptions, left, right Datum) (Datum, error) {
	if opts.NoCheckOverflow {
		name += "_unchecked"
	}
	return CallFunction(ctx, name, nil, left, right)
}

// Add adds element by element; a scalar serves every row of the other argument.
//
// Numbers meet in their common type: integers of both sizes and signs in one that holds both (at most 64 bits), an
// integer and a float in the float. Timestamps, dates, times of day and durations take a duration of any unit; the
// result has the finer unit, a date becomes a timestamp, and a time of day must stay within its day. Dictionaries are
// computed by value.
//
// The result is null where an input is. Integer overflow is an error (arrow.ErrInvalid) unless opts.NoCheckOverflow
// lets it wrap around; floats follow IEEE 754. Arguments of different lengths are arrow.ErrInvalid, types without a
// kernel arrow.ErrNotImplemented.
//
// The GPU is used from the crossover on, for numbers of different types as well; times in different units need the CPU.
func Add(ctx context.Context, opts ArithmeticOptions, left, right Datum) (Datum, error) {
	return arithmetic(ctx, "add", opts, left, right)
}

// Subtract subtracts element by element; a scalar serves every row of the other argument.
//
// Types, nulls, overflow, errors and the GPU are as for [Add]. Two instants or two times of day give the duration
// between them, in the finer unit; a timestamp with a zone and one without do not meet (arrow.ErrInvalid).
func Subtract(ctx context.Context, opts ArithmeticOptions, left, right Datum) (Datum, error) {
	return arithmetic(ctx, "sub", opts, left, right)
}

// Multiply multiplies element by element; a scalar serves every row of the other argument.
//
// Types, nulls, overflow, errors and the GPU are as for [Add], for numbers and for a duration times an integer.
func Multiply(ctx context.Context, opts ArithmeticOptions, left, right Datum) (Datum, error) {
	return arithmetic(ctx, "multiply", opts, left, right)
}

// Divide divides element by element; a scalar serves every row of the other argument.
//
// Integers are truncated towards zero. A duration divided by an integer is a duration, by a duration a float64. The
// result is null where an input is. Integer division by zero is an error (arrow.ErrInvalid). The smallest integer
// divided by -1 is an overflow error, or 0 with opts.NoCheckOverflow. Floats divided by zero are an error too, or with
// opts.NoCheckOverflow follow IEEE 754. Other errors and the GPU are as for [Add].
func Divide(ctx context.Context, opts ArithmeticOptions, left, right Datum) (Datum, error) {
	return arithmetic(ctx, "divide", opts, left, right)
}
