package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// signOps are the functions of one number that need no more than its sign, and the square root.
var signOps = []op{
	{
		name: "abs_unchecked", arity: 1, types: sizeTypes, gpu: msl.Expr{Value: "abs_wrap(a)"}, cross: crossMap, long: true,
		cpu: integers(
			unary(cpu.AbsWrap[int8]), unary(cpu.AbsWrap[int16]), unary(cpu.AbsWrap[int32]), unary(cpu.AbsWrap[int64]),
			unary(cpu.AbsWrap[uint8]), unary(cpu.AbsWrap[uint16]), unary(cpu.AbsWrap[uint32]), unary(cpu.AbsWrap[uint64]),
		).and(unary(cpu.AbsWrap[float32]), unary(cpu.AbsWrap[float64])),
	},
	{
		name: "abs", arity: 1, types: sizeTypes, gpu: msl.Expr{Value: "abs_checked(a, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: integers(
			unary(cpu.AbsChecked[int8]), unary(cpu.AbsChecked[int16]), unary(cpu.AbsChecked[int32]), unary(cpu.AbsChecked[int64]),
			unary(cpu.AbsChecked[uint8]), unary(cpu.AbsChecked[uint16]), unary(cpu.AbsChecked[uint32]), unary(cpu.AbsChecked[uint64]),
		).and(unary(cpu.AbsChecked[float32]), unary(cpu.AbsChecked[float64])),
	},
	{
		name: "negate_unchecked", arity: 1, types: sizeTypes, gpu: msl.Expr{Value: "neg_wrap(a)"}, cross: crossMap, long: true,
		cpu: integers(
			unary(cpu.NegateWrap[int8]), unary(cpu.NegateWrap[int16]), unary(cpu.NegateWrap[int32]), unary(cpu.NegateWrap[int64]),
			unary(cpu.NegateWrap[uint8]), unary(cpu.NegateWrap[uint16]), unary(cpu.NegateWrap[uint32]), unary(cpu.NegateWrap[uint64]),
		).and(unary(cpu.NegateWrap[float32]), unary(cpu.NegateWrap[float64])),
	},
	{
		name: "negate", arity: 1, types: signedTypes, gpu: msl.Expr{Value: "neg_checked(a, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: integers(
			unary(cpu.NegateChecked[int8]), unary(cpu.NegateChecked[int16]), unary(cpu.NegateChecked[int32]), unary(cpu.NegateChecked[int64]),
			nil, nil, nil, nil,
		).and(unary(cpu.NegateChecked[float32]), unary(cpu.NegateChecked[float64])),
	},
	{
		name: "sign", arity: 1, types: signTypes, gpu: msl.Expr{Value: "sign_of(a)"}, cross: crossMap, long: true,
		cpu: integers(
			unary(cpu.Sign[int8]), unary(cpu.Sign[int16]), unary(cpu.Sign[int32]), unary(cpu.Sign[int64]),
			unary(cpu.Sign[uint8]), unary(cpu.Sign[uint16]), unary(cpu.Sign[uint32]), unary(cpu.Sign[uint64]),
		).and(unary(cpu.SignFloat[float32]), unary(cpu.SignFloat[float64])),
	},
	{
		name: "sqrt_unchecked", arity: 1, types: realTypes, gpu: msl.Expr{Value: "root(a)"}, cross: crossMap, long: true,
		cpu: blockKernels{}.and(unary(cpu.SqrtWrap[float32]), unary(cpu.SqrtWrap[float64])),
	},
	{
		name: "sqrt", arity: 1, types: realTypes, gpu: msl.Expr{Value: "root_checked(a, bad)", Fails: true}, cross: crossMap, long: true,
		cpu: blockKernels{}.and(unary(cpu.SqrtChecked[float32]), unary(cpu.SqrtChecked[float64])),
	},
}

// sizeTypes: numbers and durations.
func sizeTypes(in []arrow.DataType) (*plan, error) {
	t := bare(in[0])
	if !isNumeric(t) && t.ID() != arrow.DURATION {
		return nil, errNoKernel
	}
	return samePlan(in, t, t)
}

// signedTypes: numbers that have a sign.
func signedTypes(in []arrow.DataType) (*plan, error) {
	if isUnsigned(storage(bare(in[0]))) {
		return nil, errNoKernel
	}
	return sizeTypes(in)
}

// signTypes: the sign of integers and durations is an int8, that of floats a float.
func signTypes(in []arrow.DataType) (*plan, error) {
	p, err := sizeTypes(in)
	if err == nil && !isFloat(p.in) {
		p.out = arrow.PrimitiveTypes.Int8
	}
	return p, err
}

// realTypes: floats; integers become float64.
func realTypes(in []arrow.DataType) (*plan, error) {
	var t arrow.DataType
	for _, x := range in {
		x = bare(x)
		switch {
		case x.ID() == arrow.NULL && len(in) > 1:
			continue
		case !isNumeric(x):
			return nil, errNoKernel
		case arrow.IsInteger(x.ID()):
			x = arrow.PrimitiveTypes.Float64
		}
		if t == nil {
			t = x
		}
		t = commonNumeric(t, x)
	}
	if t == nil {
		return nil, errNoKernel
	}
	return samePlan(in, t, t)
}

// checked calls a function of one argument that has an unchecked form.
func checked(ctx context.Context, name string, opts ArithmeticOptions, arg Datum) (Datum, error) {
	if opts.NoCheckOverflow {
		name += "_unchecked"
	}
	return CallFunction(ctx, name, nil, arg)
}

// AbsoluteValue is the absolute value of numbers and durations.
//
// The result has the argument's type and is null where it is; dictionaries are computed by value. The absolute value of
// the smallest integer does not fit: arrow.ErrInvalid, or with opts.NoCheckOverflow that integer again. Other types are
// arrow.ErrNotImplemented. The GPU is used from the crossover on.
func AbsoluteValue(ctx context.Context, opts ArithmeticOptions, input Datum) (Datum, error) {
	return checked(ctx, "abs", opts, input)
}

// Negate is the negative of numbers and durations. Unsigned integers have none and are arrow.ErrNotImplemented; with
// opts.NoCheckOverflow they wrap around. All else is as for [AbsoluteValue].
func Negate(ctx context.Context, opts ArithmeticOptions, input Datum) (Datum, error) {
	return checked(ctx, "negate", opts, input)
}

// Sign is -1, 0 or 1: an int8 for integers and durations, a float for floats, NaN for NaN. The result is null where the
// argument is. Other types are arrow.ErrNotImplemented. The GPU is used from the crossover on.
func Sign(ctx context.Context, input Datum) (Datum, error) {
	return CallFunction(ctx, "sign", nil, input)
}
