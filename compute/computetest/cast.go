package computetest

import (
	"math"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

// castTypes are what is cast.
var castTypes = ones(slices.Concat([]arrow.DataType{boolType}, numbers, []arrow.DataType{dictI64})...)

// castOptions are where to, safely and not. The first ones are met in all combinations with the other dimensions.
var castOptions = func() []compute.FunctionOptions {
	out := []compute.FunctionOptions{
		compute.SafeCastOptions(i32), compute.UnsafeCastOptions(f32), compute.UnsafeCastOptions(u8), compute.SafeCastOptions(f64),
		&compute.CastOptions{ToType: u64, AllowIntOverflow: true}, &compute.CastOptions{ToType: f32, AllowIntOverflow: true},
		&compute.CastOptions{ToType: i64, AllowFloatTruncate: true},
		compute.SafeCastOptions(tsUTC), compute.SafeCastOptions(time32s), compute.SafeCastOptions(boolType),
	}
	for _, t := range numbers {
		for _, safe := range []bool{true, false} {
			out = append(out, compute.NewCastOptions(t, safe))
		}
	}
	return out
}()

// cast is the oracle of casts between numbers, Bool, and what is stored as a number.
func cast(in []*Column, options compute.FunctionOptions) (*Column, error) {
	opts := options.(*compute.CastOptions)
	to := opts.ToType
	rule := func(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
		from := bare(in[0])
		if !castExists(from, to) {
			return nil, nil, errNoKernel
		}
		return []arrow.DataType{from}, to, nil
	}
	return each(rule, func(a, _ any) (any, error) { return castOf(a, to, opts) })(in, nil)
}

// castExists: all numbers and Bool; a temporal type has a cast from its integer only.
func castExists(from, to arrow.DataType) bool {
	return !isTemporal(to) || (from.ID() == arrow.INT32 || from.ID() == arrow.INT64) && bitsOf(from) == bitsOf(to)
}

func castOf(v any, to arrow.DataType, opts *compute.CastOptions) (any, error) {
	if b, ok := v.(bool); ok {
		v = int64(btoi(b))
	}
	switch v.(type) {
	case float32, float64:
		return castReal(number(v), to, opts)
	}
	whole := integer(v)
	switch {
	case to.ID() == arrow.BOOL:
		return whole.Sign() != 0, nil
	case !isFloat(to):
		return fitted(whole, to, !opts.AllowIntOverflow)
	}
	bits := uint(53)
	if to.ID() == arrow.FLOAT32 {
		bits = 24
	}
	if !opts.AllowFloatTruncate && new(big.Int).Abs(whole).BitLen() > int(bits) && whole.CmpAbs(new(big.Int).Lsh(big.NewInt(1), bits)) != 0 {
		return nil, errLossyCast
	}
	f := new(big.Float).SetInt(whole)
	if to.ID() == arrow.FLOAT32 {
		x, _ := f.Float32()
		return x, nil
	}
	x, _ := f.Float64()
	return x, nil
}

func castReal(f float64, to arrow.DataType, opts *compute.CastOptions) (any, error) {
	switch to.ID() {
	case arrow.BOOL:
		return f != 0, nil
	case arrow.FLOAT32:
		return float32(f), nil
	case arrow.FLOAT64:
		return f, nil
	}
	whole := new(big.Int)
	switch {
	case math.IsNaN(f):
	case math.IsInf(f, 0):
		whole.Lsh(big.NewInt(int64(math.Copysign(1, f))), 100)
	default:
		new(big.Float).SetFloat64(f).Int(whole)
	}
	out, err := fitted(whole, to, true)
	switch {
	case !opts.AllowFloatTruncate && (err != nil || f != math.Trunc(f) || math.IsNaN(f)):
		return nil, errLossyCast
	case err == nil:
		return out, nil
	}
	// the nearer limit
	limit := new(big.Int)
	if whole.Sign() > 0 {
		limit.Sub(powers[bitsOf(to)], big.NewInt(1))
		if isSigned(to) {
			limit.Rsh(limit, 1)
		}
	} else if isSigned(to) {
		limit.Rsh(powers[bitsOf(to)], 1).Neg(limit)
	}
	return fitted(limit, to, true)
}
