package computetest

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

// distinctTypes are types whose distinct values are found. Dictionaries, which keep their own, have tests of their own.
var distinctTypes = append(append(ones(plain...), ones(stringTypes...)...), ones(nullType)...)

// distinct are the distinct rows in the order of first appearance, and how often each occurs.
func distinct(rows []any) (values []any, counts []int64) {
	for _, v := range rows {
		at := position(values, v)
		if at < 0 {
			at = len(values)
			values, counts = append(values, v), append(counts, 0)
		}
		counts[at]++
	}
	return values, counts
}

// unique is the oracle of unique.
func unique(in []*Column, _ compute.FunctionOptions) (*Column, error) {
	if in[0].Form == Scalar {
		return nil, errNoKernel
	}
	values, _ := distinct(in[0].Rows)
	return &Column{Type: in[0].Type, Form: Array, Rows: values}, nil
}

// valueCounts is the oracle of value_counts.
func valueCounts(in []*Column, _ compute.FunctionOptions) (*Column, error) {
	if in[0].Form == Scalar {
		return nil, errNoKernel
	}
	values, counts := distinct(in[0].Rows)
	t := arrow.StructOf(arrow.Field{Name: "values", Type: in[0].Type, Nullable: true},
		arrow.Field{Name: "counts", Type: i64, Nullable: true})
	out := &Column{Type: t, Form: Array}
	for i, v := range values {
		out.Rows = append(out.Rows, []any{v, counts[i]})
	}
	return out, nil
}
