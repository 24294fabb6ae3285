package computetest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/broadhead-go/broadhead/compute"
)

var (
	sortTypes   = append(append(ones(plain...), ones(stringTypes...)...), ones(dictI64, dictStr, nullType)...)
	sortOptions = []compute.FunctionOptions{
		nil, compute.SortOptions{{Order: compute.SortOrderDescending, NullPlacement: compute.SortNullsAtStart}},
		compute.SortOptions{{NullPlacement: compute.SortNullsAtStart}}, &compute.SortOptions{{Order: compute.SortOrderDescending}},
	}
)

// sortKeyOf is the key that options hold.
func sortKeyOf(opts compute.FunctionOptions) compute.SortKey {
	switch o := opts.(type) {
	case compute.SortOptions:
		return o[0]
	case *compute.SortOptions:
		return (*o)[0]
	}
	return compute.DefaultSortKey()
}

// sortedRows are the numbers of rows in order.
func sortedRows(rows []any, key compute.SortKey) []any {
	// 0 for values, 1 for NaN, 2 for null; turned around where nulls come first
	class := func(v any) int {
		c := 0
		switch v.(type) {
		case nil:
			c = 2
		case float32, float64:
			if isNaN(v) {
				c = 1
			}
		}
		if key.NullPlacement == compute.SortNullsAtStart {
			c = -c
		}
		return c
	}
	out := make([]any, len(rows))
	for i := range out {
		out[i] = uint64(i)
	}
	slices.SortStableFunc(out, func(a, b any) int {
		x, y := rows[a.(uint64)], rows[b.(uint64)]
		if c := cmp.Compare(class(x), class(y)); c != 0 || class(x) != 0 {
			return c
		}
		c := compareValues(x, y)
		if key.Order == compute.SortOrderDescending {
			c = -c
		}
		return c
	})
	return out
}

func compareValues(x, y any) int {
	switch x := x.(type) {
	case string:
		return strings.Compare(x, y.(string))
	case bool:
		return cmp.Compare(btoi(x), btoi(y.(bool)))
	case float32, float64:
		return cmp.Compare(number(x), number(y))
	}
	return integer(x).Cmp(integer(y))
}

// sortIndices is the oracle of sort_indices.
func sortIndices(in []*Column, opts compute.FunctionOptions) (*Column, error) {
	if in[0].Form == Scalar {
		return nil, errNoKernel
	}
	return &Column{Type: u64, Form: Array, Rows: sortedRows(in[0].Rows, sortKeyOf(opts))}, nil
}

// sorted is the oracle of sort.
func sorted(in []*Column, opts compute.FunctionOptions) (*Column, error) {
	order, err := sortIndices(in, opts)
	if err != nil {
		return nil, err
	}
	out := &Column{Type: in[0].Type, Form: in[0].Form, Rows: make([]any, len(order.Rows))}
	for i, row := range order.Rows {
		out.Rows[i] = in[0].Rows[row.(uint64)]
	}
	return out, nil
}
