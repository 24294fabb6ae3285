package compute

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
)

// ScalarAggregateOptions say how an aggregate treats nulls. A struct is taken literally; nil options mean
// [DefaultScalarAggregateOptions].
type ScalarAggregateOptions struct {
	// SkipNulls leaves nulls out; otherwise one null makes the result null (any and all follow Kleene logic).
	SkipNulls bool `compute:"skip_nulls"`
	// MinCount is the number of valid rows below which the result is null.
	MinCount uint32 `compute:"min_count"`
}

// TypeName is the options' name in Arrow.
func (ScalarAggregateOptions) TypeName() string { return "ScalarAggregateOptions" }

// DefaultScalarAggregateOptions skip nulls and need one valid row.
func DefaultScalarAggregateOptions() *ScalarAggregateOptions {
	return &ScalarAggregateOptions{SkipNulls: true, MinCount: 1}
}

// CountMode says which rows [Count] counts.
type CountMode uint8

const (
	// CountOnlyValid counts the rows that are not null.
	CountOnlyValid CountMode = iota
	// CountOnlyNull counts the nulls.
	CountOnlyNull
	// CountAll counts every row.
	CountAll
)

// CountOptions choose the rows that [Count] counts. Nil options mean [DefaultCountOptions].
type CountOptions struct {
	Mode CountMode `compute:"mode"`
}

// TypeName is the options' name in Arrow.
func (CountOptions) TypeName() string { return "CountOptions" }

// DefaultCountOptions count the valid rows.
func DefaultCountOptions() *CountOptions { return &CountOptions{Mode: CountOnlyValid} }

// optionsOf accepts options as pointer or value; nil, typed or not, gives the default.
func optionsOf[T any](name string, opts ac.FunctionOptions, def func() *T) (*T, error) {
	switch o := any(opts).(type) {
	case nil:
		return def(), nil
	case *T:
		if o == nil {
			return def(), nil
		}
		return o, nil
	case T:
		return &o, nil
	}
	return nil, fmt.Errorf("%w: function '%s' does not take options of type %T", arrow.ErrInvalid, name, opts)
}

// noOptions accepts no options but nil, and those that arithmetic has in Go, where they choose the function's name.
func noOptions(name string, opts ac.FunctionOptions) error {
	switch opts.(type) {
	case nil, ac.ArithmeticOptions, *ac.ArithmeticOptions:
	default:
		return fmt.Errorf("%w: function '%s' does not take options of type %T", arrow.ErrInvalid, name, opts)
	}
	return nil
}
