package compute

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// roundOps round floats.
var roundOps = []op{
	{
		name: "floor", arity: 1, types: realTypes, gpu: msl.Expr{Value: "integral(a, 0u)"}, cross: crossMap, long: true,
		cpu: integral(cpu.RoundDown),
	},
	{
		name: "ceil", arity: 1, types: realTypes, gpu: msl.Expr{Value: "integral(a, 1u)"}, cross: crossMap, long: true,
		cpu: integral(cpu.RoundUp),
	},
	{
		name: "trunc", arity: 1, types: realTypes, gpu: msl.Expr{Value: "integral(a, 2u)"}, cross: crossMap, long: true,
		cpu: integral(cpu.RoundTowardsZero),
	},
	{
		name: "round", arity: 1, types: roundTypes, options: roundDigits, gpu: roundExpr, cross: crossMap,
		cpu: blockKernels{}.and(rounding[float32], rounding[float64]),
	},
	{
		name: "round_to_multiple", arity: 1, types: roundTypes, options: roundMultiple, gpu: roundExpr, cross: crossMap,
		cpu: blockKernels{}.and(rounding[float32], rounding[float64]),
	},
}

// roundExpr rounds a to b in mode c: the unit and the mode are bound by the options.
var roundExpr = msl.Expr{Value: "round_to(a, b, c, bad)", Fails: true, Fixed: [3]msl.Type{2: msl.U8}}

func integral(mode cpu.RoundMode) blockKernels {
	return blockKernels{}.and(unary(cpu.IntegralOf[float32](mode)), unary(cpu.IntegralOf[float64](mode)))
}

func rounding[T cpu.Float](b *block) cpu.Status {
	return cpu.Round(view[T](b.out, b.n), view[T](b.in[0].values, b.n), view[T](b.in[1].values, b.n),
		cpu.RoundMode(b.in[2].values[0]))
}

// roundTypes: floats, and integers as float64, to multiples of 1, half to even.
func roundTypes(in []arrow.DataType) (*plan, error) {
	p, err := realTypes(in)
	if err == nil {
		err = p.roundTo(scalar.NewFloat64Scalar(1), cpu.RoundHalfToEven)
	}
	return p, err
}

// roundTo binds unit and mode.
func (p *plan) roundTo(unit scalar.Scalar, mode cpu.RoundMode) error {
	u, err := unit.CastTo(p.out)
	if err != nil {
		return fmt.Errorf("%w: the rounding multiple: %w", arrow.ErrInvalid, err)
	}
	p.bound = []scalar.Scalar{u, scalar.NewUint8Scalar(uint8(mode))}
	return nil
}

// modeOf checks a rounding mode.
func modeOf(mode ac.RoundMode) (cpu.RoundMode, error) {
	if mode < ac.RoundDown || mode > ac.RoundHalfToOdd {
		return 0, fmt.Errorf("%w: no rounding mode %d", arrow.ErrInvalid, mode)
	}
	return cpu.RoundMode(mode), nil
}

// roundDigits binds the options of round: 10 to the power of the digits, by which positive ones multiply and negative
// ones divide.
func roundDigits(opts FunctionOptions, p *plan) error {
	o, err := optionsOf("round", opts, func() *RoundOptions { return &DefaultRoundOptions })
	if err != nil {
		return err
	}
	mode, err := modeOf(o.Mode)
	if err != nil {
		return err
	}
	digits := o.NDigits
	if digits > 0 {
		mode |= cpu.RoundScaleUp
	} else {
		digits = -digits
	}
	unit := math.Inf(1)
	if digits >= 0 && digits <= 308 {
		unit = math.Pow10(int(digits))
	}
	return p.roundTo(scalar.NewFloat64Scalar(unit), mode)
}

// roundMultiple binds the options of round_to_multiple.
func roundMultiple(opts FunctionOptions, p *plan) error {
	o, err := optionsOf("round_to_multiple", opts, func() *RoundToMultipleOptions { return &DefaultRoundToMultipleOptions })
	if err != nil {
		return err
	}
	mode, err := modeOf(o.Mode)
	if err != nil {
		return err
	}
	unit := o.Multiple
	switch {
	case unit == nil || !unit.IsValid():
		return fmt.Errorf("%w: rounding multiple must be non-null and valid", arrow.ErrInvalid)
	case !isNumeric(unit.DataType()) && !arrow.IsDecimal(unit.DataType().ID()):
		return fmt.Errorf("%w: rounding multiple must be a number, got %s", arrow.ErrInvalid, unit.DataType())
	}
	if err := p.roundTo(unit, mode); err != nil {
		return err
	}
	value, err := p.bound[0].CastTo(arrow.PrimitiveTypes.Float64)
	if err != nil || !(value.(*scalar.Float64).Value > 0) {
		return fmt.Errorf("%w: rounding multiple must be positive, got %s", arrow.ErrInvalid, unit)
	}
	return nil
}

// Round rounds numbers to decimal digits: opts.NDigits after the point, or before it if negative.
//
// Floats keep their type, integers become float64, decimals go to arrow-go. The result is null where the argument is.
// opts.Mode says which of the two neighbours is taken, or how a tie between them is broken; a value with no more digits
// stays as it is, and so do infinities and NaN. What does not fit once scaled or rounded is arrow.ErrInvalid, other
// types are arrow.ErrNotImplemented. The GPU is used from the crossover on for floats.
func Round(ctx context.Context, opts RoundOptions, arg Datum) (Datum, error) {
	return CallFunction(ctx, "round", &opts, arg)
}

// RoundToMultiple rounds numbers to multiples of opts.Multiple, a number above zero, which becomes the result's type.
// All else is as for [Round].
func RoundToMultiple(ctx context.Context, opts RoundToMultipleOptions, arg Datum) (Datum, error) {
	return CallFunction(ctx, "round_to_multiple", &opts, arg)
}
