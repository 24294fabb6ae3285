package computetest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

// selected is the oracle of filter.
func selected(in []*Column, opts compute.FunctionOptions) (*Column, error) {
	values, mask := in[0], in[1]
	switch {
	case (values.Form == Scalar) != (mask.Form == Scalar):
		return nil, errNoKernel
	case len(values.Rows) != len(mask.Rows):
		return nil, errLength
	}
	o, _ := opts.(*compute.FilterOptions)
	res := &Column{Type: values.Type, Form: max(values.Form, mask.Form, Array), Rows: []any{}}
	for i, m := range mask.Rows {
		switch {
		case m == true:
			res.Rows = append(res.Rows, values.Rows[i])
		case m == nil && o != nil && o.NullSelection == compute.SelectionEmitNulls:
			res.Rows = append(res.Rows, nil)
		}
	}
	return res, nil
}

// taken is the oracle of a take.
func taken(in []*Column, _ compute.FunctionOptions) (*Column, error) {
	values, indices := in[0], in[1]
	if values.Form == Scalar || indices.Form == Scalar || !isInteger(indices.Type) {
		return nil, errNoKernel
	}
	res := &Column{Type: values.Type, Form: max(values.Form, indices.Form), Rows: make([]any, len(indices.Rows))}
	for i, at := range indices.Rows {
		if at == nil {
			continue
		}
		row := integer(at)
		if !row.IsInt64() || row.Sign() < 0 || row.Int64() >= int64(len(values.Rows)) {
			return nil, fmt.Errorf("%w: %s", arrow.ErrIndex, row)
		}
		res.Rows[i] = values.Rows[row.Int64()]
	}
	return res, nil
}

// indexBelow is an index, as a value of type t, of one of n rows: null if there is none.
func indexBelow(rng *rand.Rand, t arrow.DataType, n int) any {
	if n == 0 {
		return nil
	}
	most := uint64(math.MaxUint64) >> (64 - bitsOf(t))
	if isSigned(t) {
		most /= 2
	}
	at := rng.Uint64N(min(uint64(n-1), most) + 1)
	if isUnsigned(t) {
		return at
	}
	return int64(at)
}
