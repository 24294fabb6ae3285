package compute

import (
	"context"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// mathOps are the functions whose bits the CPU's math library decides, so that they stay there. float32 is computed in
// float64 and rounded.
var mathOps = slices.Concat(
	math1("sin", "", math.Sin, finite),
	math1("cos", "", math.Cos, finite),
	math1("tan", "", math.Tan, finite),
	math1("asin", "", math.Asin, upToOne),
	math1("acos", "", math.Acos, upToOne),
	math1("atan", "", math.Atan, nil),
	math1("ln", "", ln, positive),
	math1("log10", "", math.Log10, positive),
	math1("log2", "", math.Log2, positive),
	math1("log1p", "", math.Log1p, aboveMinusOne),
	math1("exp", "Power of e", math.Exp, nil),
	math1("expm1", "Power of e less one, precise near zero", math.Expm1, nil),
	math1("sinh", "Hyperbolic sine", math.Sinh, nil),
	math1("cosh", "Hyperbolic cosine", math.Cosh, nil),
	math1("tanh", "Hyperbolic tangent", math.Tanh, nil),
	math1("asinh", "Inverse hyperbolic sine", math.Asinh, nil),
	math1("acosh", "Inverse hyperbolic cosine", math.Acosh, oneAndMore),
	math1("atanh", "Inverse hyperbolic tangent", math.Atanh, withinOne),
	math2("atan2", "", math.Atan2, nil),
	math2("logb", "", logb, positives),
	math2("hypot", "Length of the hypotenuse", math.Hypot, nil),
	powerOps,
)

// math1 is the op of a function of one number, or, where domain tells what is wrong with a number, the unchecked op and the
// checked one. A summary is of what arrow-go does not have.
func math1(name, summary string, f func(float64) float64, domain func(float64) cpu.Status) []op {
	var checked blockKernels
	if domain != nil {
		checked = floatsChecked(f, domain)
	}
	return mathPair(name, summary, []string{"x"}, floats(f), checked)
}

// math2 is math1 of two numbers.
func math2(name, summary string, f func(a, b float64) float64, domain func(a, b float64) cpu.Status) []op {
	var checked blockKernels
	if domain != nil {
		checked = floats2Checked(f, domain)
	}
	return mathPair(name, summary, []string{"x", "y"}, floats2(f), checked)
}

func mathPair(name, summary string, args []string, unchecked, checked blockKernels) []op {
	plain := op{name: name, arity: len(args), types: realTypes, cross: crossMap, cpu: unchecked}
	if summary != "" {
		plain.doc, plain.any = FunctionDoc{Summary: summary, ArgNames: args}, onlyNulls
	}
	if checked[msl.F64] == nil {
		return []op{plain}
	}
	careful := plain
	careful.cpu = checked
	plain.name += "_unchecked"
	if summary != "" {
		plain.doc.Summary += ", NaN outside of its domain"
	}
	return []op{plain, careful}
}

var powerOps = []op{
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
