package computetest

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

// toBool is the type rule of logic: Bool and nothing else.
func toBool(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
	for _, t := range in {
		if t.ID() != arrow.BOOL {
			return nil, nil, errNoKernel
		}
	}
	return in, boolType, nil
}

// asItIs is the type rule of functions that ask a value something.
func asItIs(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) { return in, boolType, nil }

func numbersOnly(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
	if !isNumber(in[0]) && !isDuration(in[0]) && in[0].ID() != arrow.NULL {
		return nil, nil, errNoKernel
	}
	return in, boolType, nil
}

func floatsOnly(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
	if !isFloat(in[0]) {
		return nil, nil, errNoKernel
	}
	return in, boolType, nil
}

// logic is the oracle of logic in which null makes null.
func logic(f func(a, b bool) bool) Oracle {
	return each(toBool, func(a, b any) (any, error) { return f(a.(bool), b.(bool)), nil })
}

// kleene is the oracle of logic in which null is unknown: the answer is known if it is the same whatever nulls stand for.
func kleene(f func(a, b bool) bool) Oracle {
	return eachRow(toBool, func(v []any) (any, error) {
		answers := map[bool]bool{}
		for _, a := range meanings(v[0]) {
			for _, b := range meanings(v[1]) {
				answers[f(a, b)] = true
			}
		}
		if len(answers) == 2 {
			return nil, nil
		}
		return answers[true], nil
	})
}

func meanings(v any) []bool {
	if v == nil {
		return []bool{false, true}
	}
	return []bool{v.(bool)}
}

// isNull is the oracle of is_null and, negated, of is_not_null.
func isNull(in []*Column, opts compute.FunctionOptions) (*Column, error) {
	o, _ := opts.(*compute.NullOptions)
	return eachRow(asItIs, func(v []any) (any, error) {
		return v[0] == nil || o != nil && o.NanIsNull && isFloat(in[0].Type) && isNaN(v[0]), nil
	})(in, opts)
}

// negated turns an oracle's answers around.
func negated(o Oracle) Oracle {
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		out, err := o(in, opts)
		if err == nil {
			for i, v := range out.Rows {
				out.Rows[i] = !v.(bool)
			}
		}
		return out, err
	}
}
