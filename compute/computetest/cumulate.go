package computetest

import (
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

var (
	cumulativeTypes   = ones(slices.Concat(numbers, []arrow.DataType{boolType, date32})...)
	cumulativeOptions = []compute.FunctionOptions{
		nil, &compute.CumulativeOptions{SkipNulls: true}, &compute.CumulativeOptions{Start: scalar.NewInt8Scalar(7), SkipNulls: true},
		&compute.CumulativeOptions{Start: scalar.NewInt64Scalar(100)},
	}
)

// cumulative is the oracle of the cumulative sums.
func cumulative(checked bool) Oracle {
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		c := in[0]
		t := bare(c.Type)
		if !isInteger(t) && !isFloat(t) {
			return nil, errNoKernel
		}
		o, _ := opts.(*compute.CumulativeOptions)
		if o == nil {
			o = &compute.CumulativeOptions{}
		}
		start := int64(0)
		switch s := o.Start.(type) {
		case *scalar.Int8:
			start = int64(s.Value)
		case *scalar.Int64:
			start = s.Value
		}
		res := &Column{Type: c.Type, Form: max(c.Form, Array), Rows: make([]any, len(c.Rows))}
		sum, whole, ended := float64(start), big.NewInt(start), false
		for i, v := range c.Rows {
			ended = ended || v == nil && !o.SkipNulls
			if v == nil || ended {
				continue
			}
			switch x := v.(type) {
			case float32:
				sum = float64(float32(sum) + x)
				res.Rows[i] = float32(sum)
			case float64:
				sum += x
				res.Rows[i] = sum
			default:
				var err error
				if res.Rows[i], err = fitted(whole.Add(whole, integer(v)), t, checked); err != nil {
					return nil, err
				}
				whole = integer(res.Rows[i])
			}
		}
		return res, nil
	}
}
