package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// compareOps are the comparisons. NaN compares as IEEE 754 says, false before true.
var compareOps = []op{
	{
		name: "equal", arity: 2, types: compareTypes, gpu: msl.Expr{Value: "a == b"}, cross: crossCompare, long: true,
		cpu: integers(
			predicate(cpu.Equal[int8]), predicate(cpu.Equal[int16]), predicate(cpu.Equal[int32]), predicate(cpu.Equal[int64]),
			predicate(cpu.Equal[uint8]), predicate(cpu.Equal[uint16]), predicate(cpu.Equal[uint32]), predicate(cpu.Equal[uint64]),
		).and(predicate(cpu.Equal[float32]), predicate(cpu.Equal[float64])).
			bools(func(a, b uint64) uint64 { return ^(a ^ b) }),
	},
	{
		name: "not_equal", arity: 2, types: compareTypes, gpu: msl.Expr{Value: "a != b"}, cross: crossCompare, long: true,
		cpu: integers(
			predicate(cpu.NotEqual[int8]), predicate(cpu.NotEqual[int16]), predicate(cpu.NotEqual[int32]), predicate(cpu.NotEqual[int64]),
			predicate(cpu.NotEqual[uint8]), predicate(cpu.NotEqual[uint16]), predicate(cpu.NotEqual[uint32]), predicate(cpu.NotEqual[uint64]),
		).and(predicate(cpu.NotEqual[float32]), predicate(cpu.NotEqual[float64])).
			bools(func(a, b uint64) uint64 { return a ^ b }),
	},
	{
		name: "greater", arity: 2, types: compareTypes, gpu: msl.Expr{Value: "a > b"}, cross: crossCompare, long: true,
		cpu: integers(
			predicate(cpu.Greater[int8]), predicate(cpu.Greater[int16]), predicate(cpu.Greater[int32]), predicate(cpu.Greater[int64]),
			predicate(cpu.Greater[uint8]), predicate(cpu.Greater[uint16]), predicate(cpu.Greater[uint32]), predicate(cpu.Greater[uint64]),
		).and(predicate(cpu.Greater[float32]), predicate(cpu.Greater[float64])).
			bools(func(a, b uint64) uint64 { return a &^ b }),
	},
	{
		name: "greater_equal", arity: 2, types: compareTypes, gpu: msl.Expr{Value: "a >= b"}, cross: crossCompare, long: true,
		cpu: integers(
			predicate(cpu.GreaterEqual[int8]), predicate(cpu.GreaterEqual[int16]), predicate(cpu.GreaterEqual[int32]), predicate(cpu.GreaterEqual[int64]),
			predicate(cpu.GreaterEqual[uint8]), predicate(cpu.GreaterEqual[uint16]), predicate(cpu.GreaterEqual[uint32]), predicate(cpu.GreaterEqual[uint64]),
		).and(predicate(cpu.GreaterEqual[float32]), predicate(cpu.GreaterEqual[float64])).
			bools(func(a, b uint64) uint64 { return a | ^b }),
	},
	{
		name: "less", arity: 2, types: compareTypes, gpu: msl.Expr{Value: "a < b"}, cross: crossCompare, long: true,
		cpu: integers(
			predicate(cpu.Less[int8]), predicate(cpu.Less[int16]), predicate(cpu.Less[int32]), predicate(cpu.Less[int64]),
			predicate(cpu.Less[uint8]), predicate(cpu.Less[uint16]), predicate(cpu.Less[uint32]), predicate(cpu.Less[uint64]),
		).and(predicate(cpu.Less[float32]), predicate(cpu.Less[float64])).
			bools(func(a, b uint64) uint64 { return ^a & b }),
	},
	{
		name: "less_equal", arity: 2, types: compareTypes, gpu: msl.Expr{Value: "a <= b"}, cross: crossCompare, long: true,
		cpu: integers(
			predicate(cpu.LessEqual[int8]), predicate(cpu.LessEqual[int16]), predicate(cpu.LessEqual[int32]), predicate(cpu.LessEqual[int64]),
			predicate(cpu.LessEqual[uint8]), predicate(cpu.LessEqual[uint16]), predicate(cpu.LessEqual[uint32]), predicate(cpu.LessEqual[uint64]),
		).and(predicate(cpu.LessEqual[float32]), predicate(cpu.LessEqual[float64])).
			bools(func(a, b uint64) uint64 { return ^a | b }),
	},
}

// EqualDatum compares element by element for a == b; a scalar serves every row of the other argument.
//
// Numbers meet in their common type, temporal values in the finest unit, dictionaries by value; false is less than
// true; text and binaries of every layout and of fixed width compare by their bytes. The result is Bool, null where an input is. NaN equals nothing, -0 equals 0. A value that does not fit the
// common type, arguments of different lengths, and a timestamp with a zone beside one without are arrow.ErrInvalid;
// types without a kernel are arrow.ErrNotImplemented.
//
// The GPU is used from the crossover on, for numbers of different types as well; times in different units need the CPU.
func EqualDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "equal", nil, left, right)
}

// NotEqualDatum compares element by element for a != b. All else is as for [EqualDatum]; NaN differs from everything.
func NotEqualDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "not_equal", nil, left, right)
}

// GreaterDatum compares element by element for a > b. All else is as for [EqualDatum].
func GreaterDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "greater", nil, left, right)
}

// GreaterEqualDatum compares element by element for a >= b. All else is as for [EqualDatum].
func GreaterEqualDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "greater_equal", nil, left, right)
}

// LessDatum compares element by element for a < b. All else is as for [EqualDatum].
func LessDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "less", nil, left, right)
}

// LessEqualDatum compares element by element for a <= b. All else is as for [EqualDatum].
func LessEqualDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "less_equal", nil, left, right)
}

// EqualArray is [EqualDatum] for two arrays. The caller releases the result.
func EqualArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "equal", nil, left, right)
}

// NotEqualArray is [NotEqualDatum] for two arrays. The caller releases the result.
func NotEqualArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "not_equal", nil, left, right)
}

// GreaterArray is [GreaterDatum] for two arrays. The caller releases the result.
func GreaterArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "greater", nil, left, right)
}

// GreaterEqualArray is [GreaterEqualDatum] for two arrays. The caller releases the result.
func GreaterEqualArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "greater_equal", nil, left, right)
}

// LessArray is [LessDatum] for two arrays. The caller releases the result.
func LessArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "less", nil, left, right)
}

// LessEqualArray is [LessEqualDatum] for two arrays. The caller releases the result.
func LessEqualArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "less_equal", nil, left, right)
}
