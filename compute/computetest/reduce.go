package computetest

import (
	"math"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

// reduction is the oracle of an aggregate: f sees the valid rows. out gives the result's type.
func reduction(out func(t arrow.DataType) (arrow.DataType, error), f func(valid []any, t arrow.DataType) any) Oracle {
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		t := in[0].Type
		typ, err := out(t)
		if err != nil {
			return nil, err
		}
		valid, tooFew, hasNull := validRows(in[0], opts)
		res := &Column{Type: typ, Rows: []any{nil}}
		if !tooFew && !hasNull {
			res.Rows[0] = f(valid, t)
		}
		return res, nil
	}
}

// validRows are the rows that are not null, and what the options find wrong with them.
func validRows(c *Column, opts compute.FunctionOptions) (valid []any, tooFew, hasNull bool) {
	o, _ := opts.(*compute.ScalarAggregateOptions)
	if o == nil {
		o = compute.DefaultScalarAggregateOptions()
	}
	for _, v := range c.Rows {
		if v != nil {
			valid = append(valid, v)
		}
	}
	return valid, len(valid) < int(o.MinCount), !o.SkipNulls && len(valid) < len(c.Rows)
}

func sumType(t arrow.DataType) (arrow.DataType, error) {
	switch {
	case isFloat(t):
		return f64, nil
	case t.ID() == arrow.BOOL, isUnsigned(t):
		return u64, nil
	case isInteger(t), t.ID() == arrow.NULL:
		return i64, nil
	}
	return nil, errNoKernel
}

func meanType(t arrow.DataType) (arrow.DataType, error) {
	if _, err := sumType(t); err != nil {
		return nil, err
	}
	return f64, nil
}

func sum(valid []any, t arrow.DataType) any {
	if isFloat(t) {
		return floatSum(valid)
	}
	out, _ := sumType(t)
	v, _ := fitted(wholeSum(valid), out, false)
	return v
}

func mean(valid []any, t arrow.DataType) any {
	if isFloat(t) {
		return floatSum(valid) / float64(len(valid))
	}
	f, _ := new(big.Float).SetInt(wholeSum(valid)).Float64()
	return f / float64(len(valid))
}

func wholeSum(valid []any) *big.Int {
	s := new(big.Int)
	for _, v := range valid {
		if b, ok := v.(bool); ok {
			v = int64(btoi(b))
		}
		s.Add(s, integer(v))
	}
	return s
}

// floatSum is the exact sum, rounded once. A fixed-point number of sumBits bits holds any sum of fewer than 2^40 values.
func floatSum(valid []any) float64 {
	const sumBits = 1074 + 1024 + 40
	s := new(big.Float).SetPrec(sumBits)
	special := 0.0
	for _, v := range valid {
		f := number(v)
		if math.IsInf(f, 0) || math.IsNaN(f) {
			special += f
			continue
		}
		s.Add(s, new(big.Float).SetFloat64(f))
	}
	if special != 0 {
		return special
	}
	if s.Sign() == 0 {
		return 0
	}
	f, _ := s.Float64()
	return f
}

func sameType(t arrow.DataType) (arrow.DataType, error) { return t, nil }

// smallest is the least valid row, NaN only if all are, nil if there is none. -0 is less than 0.
func smallest(valid []any, _ arrow.DataType) any {
	if len(valid) == 0 {
		return nil
	}
	return slices.MinFunc(valid, byValue(1))
}

func largest(valid []any, _ arrow.DataType) any {
	if len(valid) == 0 {
		return nil
	}
	return slices.MinFunc(valid, byValue(-1))
}

// byValue orders values, downwards with direction -1; NaN comes last either way.
func byValue(direction int) func(a, b any) int {
	return func(a, b any) int {
		switch x := a.(type) {
		case bool:
			return direction * (btoi(x) - btoi(b.(bool)))
		case float32, float64:
			f, g := number(a), number(b)
			switch {
			case math.IsNaN(f) || math.IsNaN(g):
				return btoi(math.IsNaN(f)) - btoi(math.IsNaN(g))
			case f == g:
				return direction * (btoi(math.Signbit(g)) - btoi(math.Signbit(f)))
			case f < g:
				return -direction
			}
			return direction
		}
		return direction * integer(a).Cmp(integer(b))
	}
}

// minMax is the oracle of min_max: a valid struct of the answers of min and max.
func minMax(in []*Column, opts compute.FunctionOptions) (*Column, error) {
	var ends []any
	for _, f := range []func([]any, arrow.DataType) any{smallest, largest} {
		c, err := reduction(sameType, f)(in, opts)
		if err != nil {
			return nil, err
		}
		ends = append(ends, c.Rows[0])
	}
	t := arrow.StructOf(
		arrow.Field{Name: "min", Type: in[0].Type, Nullable: true},
		arrow.Field{Name: "max", Type: in[0].Type, Nullable: true})
	return &Column{Type: t, Rows: []any{ends}}, nil
}

// decided is the oracle of any and all: a row equal to wins decides, nulls are unknown unless skipped.
func decided(wins bool) Oracle {
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		if in[0].Type.ID() != arrow.BOOL {
			return nil, errNoKernel
		}
		valid, tooFew, hasNull := validRows(in[0], opts)
		res := &Column{Type: boolType, Rows: []any{nil}}
		switch {
		case tooFew:
		case slices.Contains(valid, any(wins)):
			res.Rows[0] = wins
		case !hasNull:
			res.Rows[0] = !wins
		}
		return res, nil
	}
}

// count is the oracle of count.
func count(in []*Column, opts compute.FunctionOptions) (*Column, error) {
	o, _ := opts.(*compute.CountOptions)
	if o == nil {
		o = compute.DefaultCountOptions()
	}
	valid, _, _ := validRows(in[0], nil)
	n := map[compute.CountMode]int{
		compute.CountOnlyValid: len(valid),
		compute.CountOnlyNull:  len(in[0].Rows) - len(valid),
		compute.CountAll:       len(in[0].Rows),
	}[o.Mode]
	return &Column{Type: i64, Rows: []any{int64(n)}}, nil
}
