package computetest

import (
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
	{Name: "bit_wise_xor", Types: twins(integers...), Oracle: each(ofFirst, func(a, b any) (any, error) {
		if x, ok := a.(int64); ok {
			return x ^ b.(int64), nil
		}
		return a.(uint64) ^ b.(uint64), nil
	})},

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
