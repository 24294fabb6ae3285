package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/msl"
)

// aggregate is a row of the table of aggregates.
type aggregate struct {
	name  string
	types func(t arrow.DataType) (*aggPlan, error)
	cross crossClass
	doc   FunctionDoc
}

// aggPlan is what a type decides: the element type reduced, the reduction that does it, and the result's type.
type aggPlan struct {
	in        msl.Type
	reduction string // one of msl's reductions, or exact
	out       arrow.DataType
	allNull   bool // a null-typed column: every row is null
	kernel    func(*tally, *column)
}

// exact is the reduction of floats; the others have msl's names.
const exact = "exact"

var aggregates = []aggregate{
	{name: "count", types: countTypes, cross: crossReduce, doc: aggregateDoc("Count the rows that are valid, null, or both")},
	{name: "sum", types: sumTypes, cross: crossReduce, doc: aggregateDoc("Add the valid rows, floats exactly")},
	{name: "mean", types: meanTypes, cross: crossReduce, doc: aggregateDoc("Mean of the valid rows as float64")},
	{name: "min", types: extremeTypes, cross: crossReduce, doc: aggregateDoc("Smallest valid row")},
	{name: "max", types: extremeTypes, cross: crossReduce, doc: aggregateDoc("Largest valid row")},
	{name: "min_max", types: minMaxTypes, cross: crossReduce, doc: aggregateDoc("Smallest and largest valid row")},
	{name: "any", types: anyAllTypes, cross: crossBits, doc: aggregateDoc("Whether a row is true")},
	{name: "all", types: anyAllTypes, cross: crossBits, doc: aggregateDoc("Whether all rows are true")},
}

func aggregateDoc(summary string) FunctionDoc {
	return FunctionDoc{Summary: summary, ArgNames: []string{"array"}}
}

// countTypes: every type whose nulls are in a validity bitmap of its own.
func countTypes(t arrow.DataType) (*aggPlan, error) {
	switch t.ID() {
	case arrow.SPARSE_UNION, arrow.DENSE_UNION, arrow.RUN_END_ENCODED:
		return nil, errNoKernel
	}
	return &aggPlan{in: msl.Bool, reduction: msl.OpCount, out: arrow.PrimitiveTypes.Int64, allNull: t.ID() == arrow.NULL}, nil
}

func sumTypes(t arrow.DataType) (*aggPlan, error) {
	s := storage(t)
	switch {
	case t.ID() == arrow.NULL:
		return &aggPlan{in: msl.I64, reduction: msl.OpSum, out: arrow.PrimitiveTypes.Int64, allNull: true}, nil
	case s == msl.Bool:
		return &aggPlan{in: s, reduction: msl.OpBool, out: arrow.PrimitiveTypes.Uint64}, nil
	case !isNumeric(t):
		return nil, errNoKernel
	case isFloat(s):
		return &aggPlan{in: s, reduction: exact, out: arrow.PrimitiveTypes.Float64}, nil
	case isUnsigned(s):
		return &aggPlan{in: s, reduction: msl.OpSum, out: arrow.PrimitiveTypes.Uint64}, nil
	}
	return &aggPlan{in: s, reduction: msl.OpSum, out: arrow.PrimitiveTypes.Int64}, nil
}

func meanTypes(t arrow.DataType) (*aggPlan, error) {
	p, err := sumTypes(t)
	if err != nil {
		return nil, err
	}
	p.out = arrow.PrimitiveTypes.Float64
	if p.reduction == msl.OpSum {
		p.reduction = msl.OpMean
	}
	return p, nil
}

func extremeTypes(t arrow.DataType) (*aggPlan, error) {
	s := storage(t)
	switch {
	case t.ID() == arrow.NULL:
		return &aggPlan{in: msl.I64, reduction: msl.OpMinMax, out: t, allNull: true}, nil
	case s == msl.NoType:
		return nil, errNoKernel
	case s == msl.Bool:
		return &aggPlan{in: s, reduction: msl.OpBool, out: t}, nil
	}
	return &aggPlan{in: s, reduction: msl.OpMinMax, out: t}, nil
}

func minMaxTypes(t arrow.DataType) (*aggPlan, error) {
	p, err := extremeTypes(t)
	if err == nil {
		p.out = arrow.StructOf(arrow.Field{Name: "min", Type: t, Nullable: true},
			arrow.Field{Name: "max", Type: t, Nullable: true})
	}
	return p, err
}

func anyAllTypes(t arrow.DataType) (*aggPlan, error) {
	if t.ID() != arrow.BOOL {
		return nil, errNoKernel
	}
	return &aggPlan{in: msl.Bool, reduction: msl.OpBool, out: t}, nil
}

// Sum adds the valid rows.
//
// Signed integers add up to int64, unsigned integers and Bool (true rows) to uint64, floats to float64; a null-typed
// column gives a null int64. Takes an array, chunks or a scalar; the result is a scalar.
//
// Nulls are treated as opts say; nil means skip them, and null for no valid row. Integers wrap around. Float sums are
// exact and rounded once, so they depend on no order, chunking or device; NaN in gives NaN out, as do infinities of
// both signs. Other types, dates and times among them, are arrow.ErrNotImplemented.
//
// The GPU is used from the crossover on. Source: the exact sum is a superaccumulator (R. Neal, arXiv:1505.05571).
func Sum(ctx context.Context, opts *ScalarAggregateOptions, values Datum) (Datum, error) {
	return callAggregate(ctx, "sum", opts, values)
}

// SumArray is [Sum] for an array.
func SumArray(ctx context.Context, opts *ScalarAggregateOptions, values arrow.Array) (scalar.Scalar, error) {
	return callAggregateArray(ctx, "sum", opts, values)
}

// Mean is the mean of the valid rows as float64: the exact sum, rounded once, divided by their number.
//
// Numbers and Bool; a null-typed column gives null. Nulls are treated as opts say; with MinCount 0, no valid row gives
// NaN. Integer sums do not wrap. Errors and the GPU are as for [Sum].
func Mean(ctx context.Context, opts *ScalarAggregateOptions, values Datum) (Datum, error) {
	return callAggregate(ctx, "mean", opts, values)
}

// MeanArray is [Mean] for an array.
func MeanArray(ctx context.Context, opts *ScalarAggregateOptions, values arrow.Array) (scalar.Scalar, error) {
	return callAggregateArray(ctx, "mean", opts, values)
}

// Min is the smallest valid row, in the input's type: Bool, numbers and temporal types.
//
// Nulls are treated as opts say; no valid row gives null. NaN is skipped, and NaN is the answer only if all valid rows
// are; -0 is less than 0. Errors and the GPU are as for [Sum].
func Min(ctx context.Context, opts *ScalarAggregateOptions, values Datum) (Datum, error) {
	return callAggregate(ctx, "min", opts, values)
}

// MinArray is [Min] for an array.
func MinArray(ctx context.Context, opts *ScalarAggregateOptions, values arrow.Array) (scalar.Scalar, error) {
	return callAggregateArray(ctx, "min", opts, values)
}

// Max is the largest valid row. All else is as for [Min].
func Max(ctx context.Context, opts *ScalarAggregateOptions, values Datum) (Datum, error) {
	return callAggregate(ctx, "max", opts, values)
}

// MaxArray is [Max] for an array.
func MaxArray(ctx context.Context, opts *ScalarAggregateOptions, values arrow.Array) (scalar.Scalar, error) {
	return callAggregateArray(ctx, "max", opts, values)
}

// MinMax is the smallest and the largest valid row in one pass, as a struct scalar with the fields min and max. The
// struct is always valid; its fields are null where [Min] is. All else is as for [Min].
func MinMax(ctx context.Context, opts *ScalarAggregateOptions, values Datum) (Datum, error) {
	return callAggregate(ctx, "min_max", opts, values)
}

// MinMaxArray is [MinMax] for an array.
func MinMaxArray(ctx context.Context, opts *ScalarAggregateOptions, values arrow.Array) (scalar.Scalar, error) {
	return callAggregateArray(ctx, "min_max", opts, values)
}

// Any says whether a row is true. Bool.
//
// Nulls are skipped by default. With SkipNulls false they are unknown: a true row makes the answer true, else a null
// makes it null. Fewer valid rows than MinCount give null. Other types are arrow.ErrNotImplemented. The GPU is used
// from the crossover on.
func Any(ctx context.Context, opts *ScalarAggregateOptions, values Datum) (Datum, error) {
	return callAggregate(ctx, "any", opts, values)
}

// AnyArray is [Any] for an array.
func AnyArray(ctx context.Context, opts *ScalarAggregateOptions, values arrow.Array) (scalar.Scalar, error) {
	return callAggregateArray(ctx, "any", opts, values)
}

// All says whether all rows are true. With SkipNulls false a false row makes the answer false, else a null makes it
// null. All else is as for [Any].
func All(ctx context.Context, opts *ScalarAggregateOptions, values Datum) (Datum, error) {
	return callAggregate(ctx, "all", opts, values)
}

// AllArray is [All] for an array.
func AllArray(ctx context.Context, opts *ScalarAggregateOptions, values arrow.Array) (scalar.Scalar, error) {
	return callAggregateArray(ctx, "all", opts, values)
}

// Count is the number of valid rows, of nulls, or of all rows, as an int64 that is never null. Any type but
// unions and run-end encoded ones (arrow.ErrNotImplemented). Nil options count the valid rows. The GPU is used from the
// crossover on where there is a validity bitmap to count.
func Count(ctx context.Context, opts *CountOptions, values Datum) (Datum, error) {
	if opts == nil {
		opts = DefaultCountOptions()
	}
	return CallFunction(ctx, "count", opts, values)
}

// CountArray is [Count] for an array.
func CountArray(ctx context.Context, opts *CountOptions, values arrow.Array) (scalar.Scalar, error) {
	in, err := datumOfArray(values)
	if err != nil {
		return nil, err
	}
	out, err := Count(ctx, opts, in)
	return scalarOf(out, err)
}

func callAggregate(ctx context.Context, name string, opts *ScalarAggregateOptions, values Datum) (Datum, error) {
	if opts == nil {
		opts = &defaultAggregate
	}
	return CallFunction(ctx, name, opts, values)
}

func callAggregateArray(ctx context.Context, name string, opts *ScalarAggregateOptions, values arrow.Array) (scalar.Scalar, error) {
	in, err := datumOfArray(values)
	if err != nil {
		return nil, err
	}
	out, err := callAggregate(ctx, name, opts, in)
	return scalarOf(out, err)
}

var defaultAggregate = *DefaultScalarAggregateOptions()

func scalarOf(d Datum, err error) (scalar.Scalar, error) {
	if err != nil {
		return nil, err
	}
	return d.(*ScalarDatum).Value, nil
}
