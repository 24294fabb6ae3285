package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// logicOps are the functions over Bool. Kleene logic takes null for unknown.
var logicOps = []op{
	{
		name: "and", arity: 2, types: boolTypes, gpu: msl.Expr{Value: "a && b"}, cross: crossBits,
		cpu: word(func(a, b uint64) uint64 { return a & b }),
	},
	{
		name: "or", arity: 2, types: boolTypes, gpu: msl.Expr{Value: "a || b"}, cross: crossBits,
		cpu: word(func(a, b uint64) uint64 { return a | b }),
	},
	{
		name: "xor", arity: 2, types: boolTypes, gpu: msl.Expr{Value: "a != b"}, cross: crossBits,
		cpu: word(func(a, b uint64) uint64 { return a ^ b }),
	},
	{
		name: "and_not", arity: 2, types: boolTypes, gpu: msl.Expr{Value: "a && !b"}, cross: crossBits,
		cpu: word(func(a, b uint64) uint64 { return a &^ b }),
	},
	{
		name: "and_kleene", arity: 2, types: boolTypes, nulls: computed, cross: crossBits,
		gpu: msl.Expr{Value: "a && b", Valid: "(va && vb) || (va && !a) || (vb && !b)"},
		cpu: kleene(cpu.AndKleene),
	},
	{
		name: "or_kleene", arity: 2, types: boolTypes, nulls: computed, cross: crossBits,
		gpu: msl.Expr{Value: "(va && a) || (vb && b)", Valid: "(va && vb) || (va && a) || (vb && b)"},
		cpu: kleene(cpu.OrKleene),
	},
	{
		name: "and_not_kleene", arity: 2, types: boolTypes, nulls: computed, cross: crossBits,
		gpu: msl.Expr{Value: "a && !b", Valid: "(va && vb) || (va && !a) || (vb && b)"},
		cpu: kleene(cpu.AndNotKleene),
	},
	{
		name: "not", arity: 1, types: boolTypes, gpu: msl.Expr{Value: "!a"}, cross: crossBits,
		cpu: word(func(a, _ uint64) uint64 { return ^a }),
	},
}

// nullOps look at validity and NaN.
var nullOps = []op{
	{
		name: "is_null", variant: nullVariant, arity: 1, types: anyTypes, nulls: never, gpu: msl.Expr{Value: "!a", Valid: "true"}, cross: crossBits,
		cpu: word(func(a, _ uint64) uint64 { return ^a }),
	},
	{
		name: "is_not_null", arity: 1, types: anyTypes, nulls: never, gpu: msl.Expr{Value: "a", Valid: "true"}, cross: crossBits,
		cpu: word(func(a, _ uint64) uint64 { return a }),
	},
	{
		name: "is_null_or_nan", doc: FunctionDoc{Summary: "Whether a row is null or NaN", ArgNames: []string{"values"}},
		arity: 1, types: floatTypes, nulls: never, cross: crossCompare,
		gpu: msl.Expr{Value: "!va || is_nan(a)", Valid: "true"},
		cpu: blockKernels{}.and(test(cpu.IsNaN[float32], orNull), test(cpu.IsNaN[float64], orNull)),
	},
	{
		name: "is_nan", arity: 1, types: isNaNTypes, nulls: never, cross: crossCompare,
		gpu: msl.Expr{Value: "va && is_nan(a)", Valid: "true"},
		cpu: blockKernels{}.and(test(cpu.IsNaN[float32], andValid), test(cpu.IsNaN[float64], andValid)),
	},
	{
		name: "is_nan_propagate", doc: FunctionDoc{Summary: "Whether a row is NaN, null for null", ArgNames: []string{"values"}},
		arity: 1, types: nanTypes, cross: crossCompare, gpu: msl.Expr{Value: "is_nan(a)"},
		cpu: integers(noNaN, noNaN, noNaN, noNaN, noNaN, noNaN, noNaN, noNaN).
			and(test(cpu.IsNaN[float32], asIs), test(cpu.IsNaN[float64], asIs)),
	},
	{
		name: "is_inf", doc: FunctionDoc{Summary: "Whether a row is infinite, null for null", ArgNames: []string{"values"}},
		arity: 1, types: nanTypes, cross: crossCompare, gpu: msl.Expr{Value: "is_inf(a)"},
		cpu: integers(noNaN, noNaN, noNaN, noNaN, noNaN, noNaN, noNaN, noNaN).
			and(test(cpu.IsInf[float32], asIs), test(cpu.IsInf[float64], asIs)),
	},
	{
		name: "is_finite", doc: FunctionDoc{Summary: "Whether a row is finite, null for null", ArgNames: []string{"values"}},
		arity: 1, types: nanTypes, cross: crossCompare, gpu: msl.Expr{Value: "is_finite(a)"},
		cpu: integers(allFinite, allFinite, allFinite, allFinite, allFinite, allFinite, allFinite, allFinite).
			and(test(cpu.IsFinite[float32], asIs), test(cpu.IsFinite[float64], asIs)),
	},
}

// nullVariant counts NaN as null where the options say so.
func nullVariant(opts FunctionOptions, in []arrow.DataType) (string, error) {
	n, err := optionsOf("is_null", opts, func() *NullOptions { return &NullOptions{} })
	if err == nil && n.NanIsNull && isFloat(storage(in[0])) {
		return "is_null_or_nan", nil
	}
	return "is_null", err
}

func orNull(v, va uint64) uint64   { return v | ^va }
func andValid(v, va uint64) uint64 { return v & va }
func asIs(v, _ uint64) uint64      { return v }

func noNaN(b *block) cpu.Status {
	clear(b.ow[:(b.n+63)/64])
	return 0
}

func allFinite(b *block) cpu.Status {
	for i := range (b.n + 63) / 64 {
		b.ow[i] = ^uint64(0)
	}
	return 0
}

// AndDatum is the logical and of Bool values, element by element; a scalar serves every row of the other argument.
//
// The result is null where an input is; [AndKleeneDatum] knows that false and null is false. Arguments of different
// lengths are arrow.ErrInvalid, other types arrow.ErrNotImplemented. The GPU is used from the crossover on.
func AndDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "and", nil, left, right)
}

// OrDatum is the logical or. All else is as for [AndDatum].
func OrDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "or", nil, left, right)
}

// AndKleeneDatum is the logical and in which null is unknown: false and null is false, true and null is null. All else
// is as for [AndDatum].
func AndKleeneDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "and_kleene", nil, left, right)
}

// OrKleeneDatum is the logical or in which null is unknown: true or null is true, false or null is null. All else is as
// for [AndDatum].
func OrKleeneDatum(ctx context.Context, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "or_kleene", nil, left, right)
}

// NotDatum is the logical not of Bool values. Nulls stay null. Other types are arrow.ErrNotImplemented. The GPU is used
// from the crossover on.
func NotDatum(ctx context.Context, values Datum) (Datum, error) {
	return CallFunction(ctx, "not", nil, values)
}

// IsNullDatum says of each row whether it is null. Any type; the result is Bool without nulls. With opts.NanIsNull, NaN
// counts as null; nil options are {false}. Dictionary rows are null by their index. The GPU is used from the crossover
// on where there is a validity bitmap to read.
func IsNullDatum(ctx context.Context, opts *NullOptions, values Datum) (Datum, error) {
	if opts == nil {
		return CallFunction(ctx, "is_null", nil, values)
	}
	return CallFunction(ctx, "is_null", opts, values)
}

// IsNotNullDatum says of each row whether it is valid. All else is as for [IsNullDatum].
func IsNotNullDatum(ctx context.Context, values Datum) (Datum, error) {
	return CallFunction(ctx, "is_not_null", nil, values)
}

// IsNaNDatum says of each row whether it is NaN. Numbers; the result is Bool, and false for null as in arrow-go (the
// function "is_nan_propagate" gives null for null). Types that are no numbers are arrow.ErrNotImplemented. The GPU is
// used from the crossover on for floats.
func IsNaNDatum(ctx context.Context, values Datum) (Datum, error) {
	return CallFunction(ctx, "is_nan", nil, values)
}

// AndArray is [AndDatum] for two arrays. The caller releases the result.
func AndArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "and", nil, left, right)
}

// OrArray is [OrDatum] for two arrays. The caller releases the result.
func OrArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "or", nil, left, right)
}

// AndKleeneArray is [AndKleeneDatum] for two arrays. The caller releases the result.
func AndKleeneArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "and_kleene", nil, left, right)
}

// OrKleeneArray is [OrKleeneDatum] for two arrays. The caller releases the result.
func OrKleeneArray(ctx context.Context, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "or_kleene", nil, left, right)
}

// NotArray is [NotDatum] for an array. The caller releases the result.
func NotArray(ctx context.Context, values arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "not", nil, values)
}

// IsNullArray is [IsNullDatum] for an array. The caller releases the result.
func IsNullArray(ctx context.Context, opts *NullOptions, values arrow.Array) (arrow.Array, error) {
	if opts == nil {
		return callArrays(ctx, "is_null", nil, values)
	}
	return callArrays(ctx, "is_null", opts, values)
}

// IsNotNullArray is [IsNotNullDatum] for an array. The caller releases the result.
func IsNotNullArray(ctx context.Context, values arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "is_not_null", nil, values)
}

// IsNaNArray is [IsNaNDatum] for an array. The caller releases the result.
func IsNaNArray(ctx context.Context, values arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "is_nan", nil, values)
}
