package computetest

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

// bits is the oracle of a function of the bits of integers.
func bits(f func(z, x, y *big.Int) *big.Int) Oracle {
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		return each(ofFirst, func(a, b any) (any, error) {
			return fitted(f(new(big.Int), integer(a), integer(b)), in[0].Type, false)
		})(in, opts)
	}
}

// shift is the oracle of a shift: amounts below zero, or of all bits but the sign's, are none.
func shift(f func(z, x *big.Int, n uint) *big.Int, checked bool) Oracle {
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		t := in[0].Type
		limit := int64(bitsOf(t))
		if isSigned(t) {
			limit--
		}
		return each(ofFirst, func(a, b any) (any, error) {
			n := integer(b)
			if n.Sign() < 0 || n.Cmp(big.NewInt(limit)) >= 0 {
				if checked {
					return nil, errInvalid
				}
				return a, nil
			}
			return fitted(f(new(big.Int), integer(a), uint(n.Uint64())), t, false)
		})(in, opts)
	}
}

func minus(x float64) float64 { return -x }

// sized is the oracle of a function of one number or duration with a result of its type.
func sized(whole func(z, x *big.Int) *big.Int, float func(float64) float64, checked bool) Oracle {
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		return each(onlySizes(nil), func(a, _ any) (any, error) {
			switch x := a.(type) {
			case float32:
				return float32(float(float64(x))), nil
			case float64:
				return float(x), nil
			}
			return fitted(whole(new(big.Int), integer(a)), in[0].Type, checked)
		})(in, opts)
	}
}

// onlySizes is the type rule of numbers and durations; out is the result's type for those that are no floats, nil their own.
func onlySizes(out arrow.DataType) typeRule {
	return func(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
		t := in[0]
		switch {
		case !isNumber(t) && !isDuration(t):
			return nil, nil, errNoKernel
		case out == nil || isFloat(t):
			return in, t, nil
		}
		return in, out, nil
	}
}

// signedOnly refuses unsigned integers.
func signedOnly(o Oracle) Oracle {
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		if isUnsigned(in[0].Type) {
			return nil, errNoKernel
		}
		return o(in, opts)
	}
}

// sign is the oracle of sign.
func sign(in []*Column, opts compute.FunctionOptions) (*Column, error) {
	of := func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		case x == 0:
			return 0
		}
		return x
	}
	return each(onlySizes(i8), func(a, _ any) (any, error) {
		switch x := a.(type) {
		case float32:
			return float32(of(float64(x))), nil
		case float64:
			return of(x), nil
		}
		return int64(integer(a).Sign()), nil
	})(in, opts)
}

// toReal is the type rule of functions of real numbers: integers become float64.
func toReal(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
	t := f32
	for _, x := range in {
		if !isNumber(x) {
			return nil, nil, errNoKernel
		}
		if x.ID() != arrow.FLOAT32 {
			t = f64
		}
	}
	casts := make([]arrow.DataType, len(in))
	for i := range casts {
		casts[i] = t
	}
	return casts, t, nil
}

// real1 is the oracle of a function of one real number, which is an error where bad says so.
func real1(f func(float64) float64, bad func(float64) bool) Oracle {
	return each(toReal, func(a, _ any) (any, error) {
		x := number(a)
		if bad != nil && bad(x) {
			return nil, errInvalid
		}
		return likewise(a, f(x)), nil
	})
}

// real2 is real1 for two real numbers.
func real2(f func(a, b float64) float64, bad func(a, b float64) bool) Oracle {
	return each(toReal, func(a, b any) (any, error) {
		x, y := number(a), number(b)
		if bad != nil && bad(x, y) {
			return nil, errInvalid
		}
		return likewise(a, f(x, y)), nil
	})
}

// likewise is v in the type of a.
func likewise(a any, v float64) any {
	if _, ok := a.(float32); ok {
		return float32(v)
	}
	return v
}

func isInf(x float64) bool       { return math.IsInf(x, 0) }
func beyondOne(x float64) bool   { return x < -1 || x > 1 }
func notPositive(x float64) bool { return x <= 0 }

// naturalLog is math.Log, which is wrong for subnormals on amd64.
func naturalLog(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func logOver(x, base float64) float64 {
	switch {
	case x < 0 || x == 0 && base <= 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	return naturalLog(x) / naturalLog(base)
}

// power is the oracle of power.
func power(checked bool) Oracle {
	rule := func(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
		if !isNumber(in[0]) || !isNumber(in[1]) {
			return nil, nil, errNoKernel
		}
		t := common(in[0], in[1])
		return []arrow.DataType{t, t}, t, nil
	}
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		_, out, err := rule([]arrow.DataType{in[0].Type, in[1].Type})
		if err != nil {
			return nil, err
		}
		return each(rule, func(a, b any) (any, error) {
			if isFloat(out) {
				return likewise(a, math.Pow(number(a), number(b))), nil
			}
			base, exp := integer(a), integer(b)
			switch {
			case exp.Sign() < 0:
				return nil, errInvalid
			case !checked:
				return fitted(new(big.Int).Exp(base, exp, powers[64]), out, false)
			case base.CmpAbs(big.NewInt(1)) <= 0 && exp.Sign() > 0: // odd or even is all that matters
				exp = big.NewInt(2 - int64(exp.Bit(0)))
			case exp.Cmp(big.NewInt(64)) > 0:
				return nil, errOverflow
			}
			return fitted(new(big.Int).Exp(base, exp, nil), out, true)
		})(in, opts)
	}
}

var roundModes = []compute.RoundMode{
	compute.RoundDown, compute.RoundUp, compute.RoundTowardsZero, compute.RoundTowardsInfinity,
	compute.RoundHalfDown, compute.RoundHalfUp, compute.RoundHalfTowardsZero, compute.RoundHalfTowardsInfinity,
	compute.RoundHalfToEven, compute.RoundHalfToOdd,
}

// Every mode is tried, with digits and multiples that take turns.
var roundOptions, multipleOptions = []compute.FunctionOptions{nil}, []compute.FunctionOptions{nil}

func init() {
	digits := []int64{0, 1, -1, 2, -400, 0, 1, -1, 20, -25}
	multiples := []scalar.Scalar{
		scalar.NewFloat64Scalar(0.5), scalar.NewInt64Scalar(3), scalar.NewFloat64Scalar(1e300), scalar.NewUint8Scalar(4), scalar.NewFloat32Scalar(0.1),
	}
	for i, m := range roundModes {
		roundOptions = append(roundOptions, &compute.RoundOptions{NDigits: digits[i], Mode: m})
		multipleOptions = append(multipleOptions, &compute.RoundToMultipleOptions{Multiple: multiples[i%len(multiples)], Mode: m})
	}
}

// round is the oracle of round and round_to_multiple.
func round(in []*Column, opts compute.FunctionOptions) (*Column, error) {
	unit, up, mode := 1.0, false, compute.RoundHalfToEven
	switch o := opts.(type) {
	case *compute.RoundOptions:
		up, mode = o.NDigits > 0, o.Mode
		unit = math.Pow(10, math.Abs(float64(o.NDigits)))
	case *compute.RoundToMultipleOptions:
		mode = o.Mode
		f, err := o.Multiple.CastTo(f64)
		if err != nil {
			return nil, err
		}
		unit = f.(*scalar.Float64).Value
	}
	return each(toReal, func(a, _ any) (any, error) {
		u := number(likewise(a, unit))
		x := number(a)
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return a, nil
		}
		scaled := number(likewise(a, x/u))
		if up {
			scaled = number(likewise(a, x*u))
		}
		if math.IsInf(scaled, 0) || math.IsNaN(scaled) {
			return nil, errOverflow
		}
		n := nearest(scaled, x < 0, x != 0, mode)
		if scaled != 0 && new(big.Float).SetInt(n).Cmp(big.NewFloat(scaled)) == 0 || x == 0 {
			return a, nil
		}
		f, _ := new(big.Float).SetInt(n).Float64()
		f = math.Copysign(f, x)
		if f != 0 {
			if up {
				f /= u
			} else {
				f *= u
			}
		}
		f = number(likewise(a, f))
		if math.IsInf(f, 0) {
			return nil, errOverflow
		}
		return likewise(a, f), nil
	})(in, opts)
}

// nearest rounds to an integer with exact arithmetic. A scaled value of zero may stand for a tiny one of the given sign.
func nearest(scaled float64, negative, tiny bool, mode compute.RoundMode) *big.Int {
	r, _ := new(big.Float).SetFloat64(scaled).Rat(nil)
	if scaled == 0 && tiny {
		r = big.NewRat(1, 1<<40)
		if negative {
			r.Neg(r)
		}
	}
	low := new(big.Int).Div(r.Num(), r.Denom()) // the floor: denominators are positive
	rest := new(big.Rat).Sub(r, new(big.Rat).SetInt(low))
	high := new(big.Int).Add(low, big.NewInt(1))
	if rest.Sign() == 0 {
		return low
	}
	toZero, fromZero := low, high
	if r.Sign() < 0 {
		toZero, fromZero = high, low
	}
	even, odd := low, high
	if low.Bit(0) == 1 {
		even, odd = high, low
	}
	choice := map[compute.RoundMode]*big.Int{
		compute.RoundDown: low, compute.RoundUp: high, compute.RoundTowardsZero: toZero, compute.RoundTowardsInfinity: fromZero,
		compute.RoundHalfDown: low, compute.RoundHalfUp: high, compute.RoundHalfTowardsZero: toZero,
		compute.RoundHalfTowardsInfinity: fromZero, compute.RoundHalfToEven: even, compute.RoundHalfToOdd: odd,
	}[mode]
	switch c := rest.Cmp(big.NewRat(1, 2)); {
	case mode < compute.RoundHalfDown || c == 0:
		return choice
	case c < 0:
		return low
	}
	return high
}
