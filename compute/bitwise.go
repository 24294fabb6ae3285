package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// bitOps are the functions of the bits of integers.
var bitOps = []op{
	{
		name: "bit_wise_and", arity: 2, types: integerTypes, gpu: msl.Expr{Value: "a & b"}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.And[int8]), loop(cpu.And[int16]), loop(cpu.And[int32]), loop(cpu.And[int64]),
			loop(cpu.And[uint8]), loop(cpu.And[uint16]), loop(cpu.And[uint32]), loop(cpu.And[uint64]),
		),
	},
	{
		name: "bit_wise_or", arity: 2, types: integerTypes, gpu: msl.Expr{Value: "a | b"}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.Or[int8]), loop(cpu.Or[int16]), loop(cpu.Or[int32]), loop(cpu.Or[int64]),
			loop(cpu.Or[uint8]), loop(cpu.Or[uint16]), loop(cpu.Or[uint32]), loop(cpu.Or[uint64]),
		),
	},
	{
		name: "bit_wise_xor", arity: 2, types: integerTypes, gpu: msl.Expr{Value: "a ^ b"}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.Xor[int8]), loop(cpu.Xor[int16]), loop(cpu.Xor[int32]), loop(cpu.Xor[int64]),
			loop(cpu.Xor[uint8]), loop(cpu.Xor[uint16]), loop(cpu.Xor[uint32]), loop(cpu.Xor[uint64]),
		),
	},
	{
		name: "bit_wise_not", arity: 1, types: integerTypes, gpu: msl.Expr{Value: "~a"}, cross: crossMap, long: true,
		cpu: integers(
			unary(cpu.Invert[int8]), unary(cpu.Invert[int16]), unary(cpu.Invert[int32]), unary(cpu.Invert[int64]),
			unary(cpu.Invert[uint8]), unary(cpu.Invert[uint16]), unary(cpu.Invert[uint32]), unary(cpu.Invert[uint64]),
		),
	},
	{
		name: "shift_left_unchecked", arity: 2, types: integerTypes, gpu: msl.Expr{Value: "shift_left(a, b)"}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.ShiftLeftWrap[int8]), loop(cpu.ShiftLeftWrap[int16]), loop(cpu.ShiftLeftWrap[int32]), loop(cpu.ShiftLeftWrap[int64]),
			loop(cpu.ShiftLeftWrap[uint8]), loop(cpu.ShiftLeftWrap[uint16]), loop(cpu.ShiftLeftWrap[uint32]), loop(cpu.ShiftLeftWrap[uint64]),
		),
	},
	{
		name: "shift_left", arity: 2, types: integerTypes, gpu: msl.Expr{Value: "shift_left_checked(a, b, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.ShiftLeftChecked[int8]), loop(cpu.ShiftLeftChecked[int16]), loop(cpu.ShiftLeftChecked[int32]), loop(cpu.ShiftLeftChecked[int64]),
			loop(cpu.ShiftLeftChecked[uint8]), loop(cpu.ShiftLeftChecked[uint16]), loop(cpu.ShiftLeftChecked[uint32]), loop(cpu.ShiftLeftChecked[uint64]),
		),
	},
	{
		name: "shift_right_unchecked", arity: 2, types: integerTypes, gpu: msl.Expr{Value: "shift_right(a, b)"}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.ShiftRightWrap[int8]), loop(cpu.ShiftRightWrap[int16]), loop(cpu.ShiftRightWrap[int32]), loop(cpu.ShiftRightWrap[int64]),
			loop(cpu.ShiftRightWrap[uint8]), loop(cpu.ShiftRightWrap[uint16]), loop(cpu.ShiftRightWrap[uint32]), loop(cpu.ShiftRightWrap[uint64]),
		),
	},
	{
		name: "shift_right", arity: 2, types: integerTypes, gpu: msl.Expr{Value: "shift_right_checked(a, b, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: integers(
			loop(cpu.ShiftRightChecked[int8]), loop(cpu.ShiftRightChecked[int16]), loop(cpu.ShiftRightChecked[int32]), loop(cpu.ShiftRightChecked[int64]),
			loop(cpu.ShiftRightChecked[uint8]), loop(cpu.ShiftRightChecked[uint16]), loop(cpu.ShiftRightChecked[uint32]), loop(cpu.ShiftRightChecked[uint64]),
		),
	},
}

// integerTypes: integers, in their common type.
func integerTypes(in []arrow.DataType) (*plan, error) {
	t := bare(in[0])
	if len(in) == 2 {
		a, b := bareTypes(in)
		if !arrow.IsInteger(a.ID()) || !arrow.IsInteger(b.ID()) {
			return nil, errNoKernel
		}
		t = commonNumeric(a, b)
	}
	if !arrow.IsInteger(t.ID()) {
		return nil, errNoKernel
	}
	return samePlan(in, t, t)
}

// ShiftLeft shifts the bits of integers to the left, element by element; a scalar serves every row of the other
// argument.
//
// Integers meet in their common type. The result is null where an argument is; bits that are shifted out are lost. An
// amount below zero or not below the bits of the type (without the sign) is arrow.ErrInvalid, or with
// opts.NoCheckOverflow leaves the value as it is; other types are arrow.ErrNotImplemented. The GPU is used from the
// crossover on where the inputs need no cast.
func ShiftLeft(ctx context.Context, opts ArithmeticOptions, lhs, rhs Datum) (Datum, error) {
	return arithmetic(ctx, "shift_left", opts, lhs, rhs)
}

// ShiftRight divides integers by powers of two, rounding down. All else is as for [ShiftLeft].
func ShiftRight(ctx context.Context, opts ArithmeticOptions, lhs, rhs Datum) (Datum, error) {
	return arithmetic(ctx, "shift_right", opts, lhs, rhs)
}
