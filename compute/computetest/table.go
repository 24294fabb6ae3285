package computetest

import (
	"math"
	"math/big"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

// Row is one function under test.
type Row struct {
	Name    string
	Types   []Signature
	Options []compute.FunctionOptions // to be tried in turn; none: nil options
	// OptionsFor makes options that depend on the type of the first argument, in place of Options.
	OptionsFor func(t arrow.DataType) []compute.FunctionOptions
	Oracle     Oracle
	OnCPU      bool // no device has the function
}

var (
	nullOptions      = []compute.FunctionOptions{nil, &compute.NullOptions{NanIsNull: true}, &compute.NullOptions{}}
	filterOptions    = []compute.FunctionOptions{nil, &compute.FilterOptions{NullSelection: compute.SelectionEmitNulls}, compute.DefaultFilterOptions()}
	takeOptions      = []compute.FunctionOptions{nil, &compute.TakeOptions{}, compute.DefaultTakeOptions()}
	countOptions     = []compute.FunctionOptions{nil, &compute.CountOptions{Mode: compute.CountOnlyNull}, &compute.CountOptions{Mode: compute.CountAll}}
	aggregateOptions = []compute.FunctionOptions{
		nil, &compute.ScalarAggregateOptions{}, &compute.ScalarAggregateOptions{SkipNulls: true},
		&compute.ScalarAggregateOptions{SkipNulls: true, MinCount: 5},
	}
)

// Table holds every function.
var Table = []Row{
	{Name: "add", Types: addTypes, Oracle: arithmetic("add", true)},
	{Name: "add_unchecked", Types: addTypes, Oracle: arithmetic("add", false)},
	{Name: "sub", Types: subtractTypes, Oracle: arithmetic("sub", true)},
	{Name: "sub_unchecked", Types: subtractTypes, Oracle: arithmetic("sub", false)},
	{Name: "subtract", Types: twins(i8, f64), Oracle: arithmetic("sub", true)},
	{Name: "subtract_unchecked", Types: twins(i8, f64), Oracle: arithmetic("sub", false)},
	{Name: "multiply", Types: multiplyTypes, Oracle: arithmetic("mul", true)},
	{Name: "multiply_unchecked", Types: multiplyTypes, Oracle: arithmetic("mul", false)},
	{Name: "divide", Types: divideTypes, Oracle: arithmetic("div", true)},
	{Name: "divide_unchecked", Types: divideTypes, Oracle: arithmetic("div", false)},
	{Name: "bit_wise_and", Types: twins(integers...), Oracle: bits((*big.Int).And)},
	{Name: "bit_wise_or", Types: twins(integers...), Oracle: bits((*big.Int).Or)},
	{Name: "bit_wise_xor", Types: twins(integers...), Oracle: bits((*big.Int).Xor)},
	{Name: "bit_wise_not", Types: ones(integers...), Oracle: bits(func(z, x, _ *big.Int) *big.Int { return z.Not(x) })},
	{Name: "shift_left", Types: twins(integers...), Oracle: shift((*big.Int).Lsh, true)},
	{Name: "shift_left_unchecked", Types: twins(integers...), Oracle: shift((*big.Int).Lsh, false)},
	{Name: "shift_right", Types: twins(integers...), Oracle: shift((*big.Int).Rsh, true)},
	{Name: "shift_right_unchecked", Types: twins(integers...), Oracle: shift((*big.Int).Rsh, false)},

	{Name: "abs", Types: ones(sizes...), Oracle: sized((*big.Int).Abs, math.Abs, true)},
	{Name: "abs_unchecked", Types: ones(sizes...), Oracle: sized((*big.Int).Abs, math.Abs, false)},
	{Name: "negate", Types: ones(sizes...), Oracle: signedOnly(sized((*big.Int).Neg, minus, true))},
	{Name: "negate_unchecked", Types: ones(sizes...), Oracle: sized((*big.Int).Neg, minus, false)},
	{Name: "sign", Types: ones(sizes...), Oracle: sign},
	{Name: "sqrt", Types: reals1, Oracle: real1(math.Sqrt, func(x float64) bool { return x < 0 })},
	{Name: "sqrt_unchecked", Types: reals1, Oracle: real1(math.Sqrt, nil)},

	{Name: "floor", Types: reals1, Oracle: real1(math.Floor, nil)},
	{Name: "ceil", Types: reals1, Oracle: real1(math.Ceil, nil)},
	{Name: "trunc", Types: reals1, Oracle: real1(math.Trunc, nil)},
	{Name: "round", Types: reals1, Options: roundOptions, Oracle: round},
	{Name: "round_to_multiple", Types: reals1, Options: multipleOptions, Oracle: round},

	{Name: "sin", OnCPU: true, Types: reals1, Oracle: real1(math.Sin, isInf)},
	{Name: "sin_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Sin, nil)},
	{Name: "cos", OnCPU: true, Types: reals1, Oracle: real1(math.Cos, isInf)},
	{Name: "cos_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Cos, nil)},
	{Name: "tan", OnCPU: true, Types: reals1, Oracle: real1(math.Tan, isInf)},
	{Name: "tan_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Tan, nil)},
	{Name: "asin", OnCPU: true, Types: reals1, Oracle: real1(math.Asin, beyondOne)},
	{Name: "asin_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Asin, nil)},
	{Name: "acos", OnCPU: true, Types: reals1, Oracle: real1(math.Acos, beyondOne)},
	{Name: "acos_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Acos, nil)},
	{Name: "atan", OnCPU: true, Types: reals1, Oracle: real1(math.Atan, nil)},
	{Name: "ln", OnCPU: true, Types: reals1, Oracle: real1(naturalLog, notPositive)},
	{Name: "ln_unchecked", OnCPU: true, Types: reals1, Oracle: real1(naturalLog, nil)},
	{Name: "log10", OnCPU: true, Types: reals1, Oracle: real1(math.Log10, notPositive)},
	{Name: "log10_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Log10, nil)},
	{Name: "log2", OnCPU: true, Types: reals1, Oracle: real1(math.Log2, notPositive)},
	{Name: "log2_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Log2, nil)},
	{Name: "log1p", OnCPU: true, Types: reals1, Oracle: real1(math.Log1p, func(x float64) bool { return x <= -1 })},
	{Name: "log1p_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Log1p, nil)},
	{Name: "exp", OnCPU: true, Types: reals1, Oracle: real1(math.Exp, nil)},
	{Name: "expm1", OnCPU: true, Types: reals1, Oracle: real1(math.Expm1, nil)},
	{Name: "sinh", OnCPU: true, Types: reals1, Oracle: real1(math.Sinh, nil)},
	{Name: "cosh", OnCPU: true, Types: reals1, Oracle: real1(math.Cosh, nil)},
	{Name: "tanh", OnCPU: true, Types: reals1, Oracle: real1(math.Tanh, nil)},
	{Name: "asinh", OnCPU: true, Types: reals1, Oracle: real1(math.Asinh, nil)},
	{Name: "acosh", OnCPU: true, Types: reals1, Oracle: real1(math.Acosh, func(x float64) bool { return x < 1 })},
	{Name: "acosh_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Acosh, nil)},
	{Name: "atanh", OnCPU: true, Types: reals1, Oracle: real1(math.Atanh, func(x float64) bool { return x <= -1 || x >= 1 })},
	{Name: "atanh_unchecked", OnCPU: true, Types: reals1, Oracle: real1(math.Atanh, nil)},
	{Name: "atan2", OnCPU: true, Types: reals2, Oracle: real2(math.Atan2, nil)},
	{Name: "hypot", OnCPU: true, Types: reals2, Oracle: real2(math.Hypot, nil)},
	{Name: "logb", OnCPU: true, Types: reals2, Oracle: real2(logOver, func(x, base float64) bool { return x <= 0 || base <= 0 })},
	{Name: "logb_unchecked", OnCPU: true, Types: reals2, Oracle: real2(logOver, nil)},
	{Name: "power", OnCPU: true, Types: powerTypes, Oracle: power(true)},
	{Name: "power_unchecked", OnCPU: true, Types: powerTypes, Oracle: power(false)},

	{Name: "if_else", Types: chooseTypes, Oracle: eachRow(toChoose, func(v []any) (any, error) {
		switch v[0] {
		case true:
			return v[1], nil
		case false:
			return v[2], nil
		}
		return nil, nil
	})},
	{Name: "coalesce", Types: slices.Concat(coalesceTypes, ones(f64)), Oracle: eachRow(toMeet, firstValid)},
	{Name: "fill_null", Types: fillTypes, Oracle: eachRow(toFirst, firstValid)},

	{Name: "equal", Types: compareTypes, Oracle: comparison(func(o int) bool { return o == 0 }, false)},
	{Name: "not_equal", Types: compareTypes, Oracle: comparison(func(o int) bool { return o != 0 }, true)},
	{Name: "greater", Types: compareTypes, Oracle: comparison(func(o int) bool { return o > 0 }, false)},
	{Name: "greater_equal", Types: compareTypes, Oracle: comparison(func(o int) bool { return o >= 0 }, false)},
	{Name: "less", Types: compareTypes, Oracle: comparison(func(o int) bool { return o < 0 }, false)},
	{Name: "less_equal", Types: compareTypes, Oracle: comparison(func(o int) bool { return o <= 0 }, false)},

	{Name: "and", Types: bools2, Oracle: logic(func(a, b bool) bool { return a && b })},
	{Name: "or", Types: bools2, Oracle: logic(func(a, b bool) bool { return a || b })},
	{Name: "xor", Types: bools2, Oracle: logic(func(a, b bool) bool { return a != b })},
	{Name: "and_not", Types: bools2, Oracle: logic(func(a, b bool) bool { return a && !b })},
	{Name: "and_kleene", Types: bools2, Oracle: kleene(func(a, b bool) bool { return a && b })},
	{Name: "or_kleene", Types: bools2, Oracle: kleene(func(a, b bool) bool { return a || b })},
	{Name: "and_not_kleene", Types: bools2, Oracle: kleene(func(a, b bool) bool { return a && !b })},
	{Name: "not", Types: bools1, Oracle: each(toBool, func(a, _ any) (any, error) { return !a.(bool), nil })},

	{Name: "is_null", Types: anyTypes, Options: nullOptions, Oracle: isNull},
	{Name: "is_not_null", Types: anyTypes, Oracle: negated(isNull)},
	{Name: "is_null_or_nan", Types: ones(f32, f64, i8), Oracle: eachRow(floatsOnly, func(v []any) (any, error) {
		return v[0] == nil || isNaN(v[0]), nil
	})},
	{Name: "is_nan", Types: ones(f32, f64), Oracle: eachRow(floatsOnly, func(v []any) (any, error) {
		return v[0] != nil && isNaN(v[0]), nil
	})},
	{Name: "is_nan_propagate", Types: ones(slices.Concat(numbers, plain[:1])...), Oracle: each(numbersOnly, func(a, _ any) (any, error) {
		return isNaN(a), nil
	})},

	{Name: "is_inf", Types: ones(f32, f64, i32, nullType), Oracle: each(numbersOnly, func(a, _ any) (any, error) {
		return math.IsInf(number(a), 0), nil
	})},
	{Name: "is_finite", Types: ones(f32, f64, u8, nullType), Oracle: each(numbersOnly, func(a, _ any) (any, error) {
		return !math.IsInf(number(a), 0) && !isNaN(a), nil
	})},

	{Name: "count", Types: anyTypes, Options: countOptions, Oracle: count},
	{Name: "sum", Types: sumTypes, Options: aggregateOptions, Oracle: reduction(sumType, sum)},
	{Name: "mean", Types: sumTypes, Options: aggregateOptions, Oracle: reduction(meanType, mean)},
	{Name: "min", Types: extremes, Options: aggregateOptions, Oracle: reduction(sameType, smallest)},
	{Name: "max", Types: extremes, Options: aggregateOptions, Oracle: reduction(sameType, largest)},
	{Name: "min_max", Types: extremes, Options: aggregateOptions, Oracle: minMax},
	{Name: "any", Types: bools1, Options: aggregateOptions, Oracle: decided(true)},
	{Name: "all", Types: bools1, Options: aggregateOptions, Oracle: decided(false)},

	{Name: "cumulative_sum", Types: cumulativeTypes, Options: cumulativeOptions, Oracle: cumulative(false)},
	{Name: "cumulative_sum_checked", Types: cumulativeTypes, Options: cumulativeOptions, Oracle: cumulative(true)},

	{Name: "cast", Types: castTypes, Options: castOptions, Oracle: cast},
	{Name: "is_in", Types: lookupTypes, OptionsFor: setsOf, Oracle: lookup(boolType, isIn)},
	{Name: "index_in", Types: lookupTypes, OptionsFor: setsOf, Oracle: lookup(i32, indexIn)},

	{Name: "sort_indices", Types: sortTypes, Options: sortOptions, Oracle: sortIndices},
	{Name: "sort", Types: ones(i8, i64, f32, arrow.BinaryTypes.String), Options: sortOptions, Oracle: sorted},
	{Name: "unique", Types: distinctTypes, Oracle: unique},
	{Name: "value_counts", Types: distinctTypes, Oracle: valueCounts},

	{Name: "filter", Types: moveTypes, Options: filterOptions, Oracle: selected},
	{Name: "array_filter", Types: masked(i64), Options: filterOptions, Oracle: selected},
	{Name: "take", Types: takeTypes, Options: takeOptions, Oracle: taken},
	{Name: "array_take", Types: []Signature{{i64, i64}}, Options: takeOptions, Oracle: taken},
}

// made keeps what OptionsFor made, by function and type.
var made sync.Map

// optionsFor are the options to be tried with arguments of some types.
func (r *Row) optionsFor(types Signature) []compute.FunctionOptions {
	if r.OptionsFor == nil {
		return r.Options
	}
	key := r.Name + types.String()
	all, ok := made.Load(key)
	if !ok {
		all, _ = made.LoadOrStore(key, r.OptionsFor(types[0]))
	}
	return all.([]compute.FunctionOptions)
}

// rowOf is the row of a function.
func rowOf(name string) *Row {
	i := slices.IndexFunc(Table, func(r Row) bool { return r.Name == name })
	return &Table[i]
}

// ofFirst is the rule of functions whose arguments have the type of the result.
func ofFirst(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) { return in, in[0], nil }
