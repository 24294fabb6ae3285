package compute

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// mathOps are the functions whose bits the CPU's math library decides, so that they stay there. float32 is computed in
// float64 and rounded.
var mathOps = []op{
	{
		name: "sin_unchecked", arity: 1, types: realTypes, cross: crossMap, cpu: floats(math.Sin),
	},
	{
		name: "sin", arity: 1, types: realTypes, cross: crossMap, cpu: floatsChecked(math.Sin, finite),
	},
	{
		name: "cos_unchecked", arity: 1, types: realTypes, cross: crossMap, cpu: floats(math.Cos),
	},
	{
		name: "cos", arity: 1, types: realTypes, cross: crossMap, cpu: floatsChecked(math.Cos, finite),
	},
	{
		name: "tan_unchecked", arity: 1, types: realTypes, cross: crossMap, cpu: floats(math.Tan),
	},
	{
		name: "tan", arity: 1, types: realTypes, cross: crossMap, cpu: floatsChecked(math.Tan, finite),
	},
	{
		name: "asin_unchecked", arity: 1, types: realTypes, cross: crossMap, cpu: floats(math.Asin),
	},
	{
		name: "asin", arity: 1, types: realTypes, cross: crossMap, cpu: floatsChecked(math.Asin, upToOne),
	},
	{
		name: "acos_unchecked", arity: 1, types: realTypes, cross: crossMap, cpu: floats(math.Acos),
	},
	{
		name: "acos", arity: 1, types: realTypes, cross: crossMap, cpu: floatsChecked(math.Acos, upToOne),
	},
	{
		name: "atan", arity: 1, types: realTypes, cross: crossMap, cpu: floats(math.Atan),
	},
	{
		name: "ln_unchecked", arity: 1, types: realTypes, cross: crossMap, cpu: floats(ln),
	},
	{
		name: "ln", arity: 1, types: realTypes, cross: crossMap, cpu: floatsChecked(ln, positive),
	},
	{
		name: "log10_unchecked", arity: 1, types: realTypes, cross: crossMap, cpu: floats(math.Log10),
	},
	{
		name: "log10", arity: 1, types: realTypes, cross: crossMap, cpu: floatsChecked(math.Log10, positive),
	},
	{
		name: "log2_unchecked", arity: 1, types: realTypes, cross: crossMap, cpu: floats(math.Log2),
	},
	{
		name: "log2", arity: 1, types: realTypes, cross: crossMap, cpu: floatsChecked(math.Log2, positive),
	},
	{
		name: "log1p_unchecked", arity: 1, types: realTypes, cross: crossMap, cpu: floats(math.Log1p),
	},
	{
		name: "log1p", arity: 1, types: realTypes, cross: crossMap, cpu: floatsChecked(math.Log1p, aboveMinusOne),
	},
	{
		name: "atan2", arity: 2, types: realTypes, cross: crossMap, cpu: floats2(math.Atan2),
	},
	{
		name: "logb_unchecked", arity: 2, types: realTypes, cross: crossMap, cpu: floats2(logb),
	},
	{
		name: "logb", arity: 2, types: realTypes, cross: crossMap, cpu: floats2Checked(logb, positives),
	},
	{
		name: "exp", doc: FunctionDoc{Summary: "Power of e", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floats(math.Exp),
	},
	{
		name: "expm1", doc: FunctionDoc{Summary: "Power of e less one, precise near zero", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floats(math.Expm1),
	},
	{
		name: "sinh", doc: FunctionDoc{Summary: "Hyperbolic sine", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floats(math.Sinh),
	},
	{
		name: "cosh", doc: FunctionDoc{Summary: "Hyperbolic cosine", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floats(math.Cosh),
	},
	{
		name: "tanh", doc: FunctionDoc{Summary: "Hyperbolic tangent", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floats(math.Tanh),
	},
	{
		name: "asinh", doc: FunctionDoc{Summary: "Inverse hyperbolic sine", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floats(math.Asinh),
	},
	{
		name: "acosh_unchecked", doc: FunctionDoc{Summary: "Inverse hyperbolic cosine, NaN outside of its domain", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floats(math.Acosh),
	},
	{
		name: "acosh", doc: FunctionDoc{Summary: "Inverse hyperbolic cosine", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floatsChecked(math.Acosh, oneAndMore),
	},
	{
		name: "atanh_unchecked", doc: FunctionDoc{Summary: "Inverse hyperbolic tangent, NaN outside of its domain", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floats(math.Atanh),
	},
	{
		name: "atanh", doc: FunctionDoc{Summary: "Inverse hyperbolic tangent", ArgNames: []string{"x"}},
		arity: 1, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floatsChecked(math.Atanh, withinOne),
	},
	{
		name: "hypot", doc: FunctionDoc{Summary: "Length of the hypotenuse", ArgNames: []string{"x", "y"}},
		arity: 2, types: realTypes, any: onlyNulls, cross: crossMap, cpu: floats2(math.Hypot),
	},
	{
		name: "power_unchecked", arity: 2, types: numericTypes, cross: crossMap,
		cpu: integers(
			loop(cpu.PowerWrap[int8]), loop(cpu.PowerWrap[int16]), loop(cpu.PowerWrap[int32]), loop(cpu.PowerWrap[int64]),
			loop(cpu.PowerWrap[uint8]), loop(cpu.PowerWrap[uint16]), loop(cpu.PowerWrap[uint32]), loop(cpu.PowerWrap[uint64]),
		).and(loop(cpu.Map2[float32](math.Pow)), loop(cpu.Map2[float64](math.Pow))),
	},
	{
		name: "power", arity: 2, types: numericTypes, cross: crossMap,
		cpu: integers(
			loop(cpu.PowerChecked[int8]), loop(cpu.PowerChecked[int16]), loop(cpu.PowerChecked[int32]), loop(cpu.PowerChecked[int64]),
			loop(cpu.PowerChecked[uint8]), loop(cpu.PowerChecked[uint16]), loop(cpu.PowerChecked[uint32]), loop(cpu.PowerChecked[uint64]),
		).and(loop(cpu.Map2[float32](math.Pow)), loop(cpu.Map2[float64](math.Pow))),
	},
}

// onlyNulls answers for arguments that are all of the null type with their like.
func onlyNulls(o *op, in []arrow.DataType) (*call, error) {
	for _, t := range in {
		if t.ID() != arrow.NULL {
			return nil, errNoKernel
		}
	}
	c := &call{out: arrow.Null, nulls: o.mayBeNull, cross: o.cross, noGPU: "nothing to compute: every row is null"}
	c.cpu = func(_ context.Context, args []Datum) (Datum, error) {
		return perRun(arrow.Null, args, func(_ []Datum, n int) (arrow.Array, error) { return array.NewNull(n), nil })
	}
	return c, nil
}

// numericTypes: numbers, in their common type.
func numericTypes(in []arrow.DataType) (*plan, error) {
	a, b := bareTypes(in)
	if !isNumeric(a) || !isNumeric(b) {
		return nil, errNoKernel
	}
	t := commonNumeric(a, b)
	return samePlan(in, t, t)
}

func statusIf(bad bool, st cpu.Status) cpu.Status {
	if bad {
		return st
	}
	return 0
}

func finite(x float64) cpu.Status     { return statusIf(math.IsInf(x, 0), cpu.OutOfDomain) }
func upToOne(x float64) cpu.Status    { return statusIf(x < -1 || x > 1, cpu.OutOfDomain) }
func withinOne(x float64) cpu.Status  { return statusIf(x <= -1 || x >= 1, cpu.OutOfDomain) }
func oneAndMore(x float64) cpu.Status { return statusIf(x < 1, cpu.OutOfDomain) }

func positive(x float64) cpu.Status {
	return statusIf(x == 0, cpu.LogOfZero) | statusIf(x < 0, cpu.LogOfNegative)
}

func aboveMinusOne(x float64) cpu.Status {
	return statusIf(x == -1, cpu.LogOfZero) | statusIf(x < -1, cpu.LogOfNegative)
}

func positives(x, base float64) cpu.Status { return positive(x) | positive(base) }

// ln is the natural logarithm. Go's assembly for amd64 takes subnormals for normal numbers.
func ln(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// logb is the logarithm of x to a base.
func logb(x, base float64) float64 {
	switch {
	case x == 0 && base <= 0, x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	return ln(x) / ln(base)
}

// Sin is the sine of radians.
//
// Integers become float64; the result is float32 for float32, else float64, and null where the argument is. Infinities
// are arrow.ErrInvalid, or NaN with opts.NoCheckOverflow; NaN gives NaN. Other types are arrow.ErrNotImplemented. It is
// computed on the CPU, whose bits are the answer.
func Sin(ctx context.Context, opts ArithmeticOptions, arg Datum) (Datum, error) {
	return checked(ctx, "sin", opts, arg)
}

// Cos is the cosine of radians. All else is as for [Sin].
func Cos(ctx context.Context, opts ArithmeticOptions, arg Datum) (Datum, error) {
	return checked(ctx, "cos", opts, arg)
}

// Tan is the tangent of radians. All else is as for [Sin].
func Tan(ctx context.Context, opts ArithmeticOptions, arg Datum) (Datum, error) {
	return checked(ctx, "tan", opts, arg)
}

// Asin is the inverse sine, of values from -1 to 1. All else is as for [Sin].
func Asin(ctx context.Context, opts ArithmeticOptions, arg Datum) (Datum, error) {
	return checked(ctx, "asin", opts, arg)
}

// Acos is the inverse cosine, of values from -1 to 1. All else is as for [Sin].
func Acos(ctx context.Context, opts ArithmeticOptions, arg Datum) (Datum, error) {
	return checked(ctx, "acos", opts, arg)
}

// Atan is the inverse tangent, from -pi/2 to pi/2. All else is as for [Sin]; no value is an error.
func Atan(ctx context.Context, arg Datum) (Datum, error) {
	return CallFunction(ctx, "atan", nil, arg)
}

// Atan2 is the inverse tangent of the first argument over the second, from -pi to pi: the angle of a point whose height
// is the first and whose width is the second. All else is as for [Sin]; no value is an error.
func Atan2(ctx context.Context, x, y Datum) (Datum, error) {
	return CallFunction(ctx, "atan2", nil, x, y)
}

// Ln is the natural logarithm. Values below or equal to zero are arrow.ErrInvalid, or NaN and -Inf with
// opts.NoCheckOverflow. All else is as for [Sin].
func Ln(ctx context.Context, opts ArithmeticOptions, arg Datum) (Datum, error) {
	return checked(ctx, "ln", opts, arg)
}

// Log10 is the logarithm to base 10. All else is as for [Ln].
func Log10(ctx context.Context, opts ArithmeticOptions, arg Datum) (Datum, error) {
	return checked(ctx, "log10", opts, arg)
}

// Log2 is the logarithm to base 2. All else is as for [Ln].
func Log2(ctx context.Context, opts ArithmeticOptions, arg Datum) (Datum, error) {
	return checked(ctx, "log2", opts, arg)
}

// Log1p is the natural logarithm of 1 + x, precise near zero; values below or equal to -1 are out of its domain. All
// else is as for [Ln].
func Log1p(ctx context.Context, opts ArithmeticOptions, arg Datum) (Datum, error) {
	return checked(ctx, "log1p", opts, arg)
}

// Logb is the logarithm of x to a base. All else is as for [Ln].
func Logb(ctx context.Context, opts ArithmeticOptions, x, base Datum) (Datum, error) {
	return arithmetic(ctx, "logb", opts, x, base)
}

// Power raises base to the power exp, element by element; a scalar serves every row of the other argument.
//
// Numbers meet in their common type, which is the result's; it is null where an argument is. Integers to a negative
// power are arrow.ErrInvalid, and so is integer overflow unless opts.NoCheckOverflow lets it wrap around. Other types
// are arrow.ErrNotImplemented. It is computed on the CPU.
func Power(ctx context.Context, opts ArithmeticOptions, base, exp Datum) (Datum, error) {
	return arithmetic(ctx, "power", opts, base, exp)
}
