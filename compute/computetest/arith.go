package computetest

import (
	"cmp"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

// common is the type in which two numbers meet: the wider float, else the smallest integer that holds both, else int64.
func common(a, b arrow.DataType) arrow.DataType {
	for _, t := range []arrow.DataType{f64, f32} {
		if a.ID() == t.ID() || b.ID() == t.ID() {
			return t
		}
	}
	switch {
	case isSigned(a) == isSigned(b) && bitsOf(a) >= bitsOf(b):
		return a
	case isSigned(a) == isSigned(b):
		return b
	}
	signed, unsigned := a, b
	if !isSigned(a) {
		signed, unsigned = b, a
	}
	for _, t := range integers[:4] {
		if bitsOf(t) >= bitsOf(signed) && bitsOf(t) > bitsOf(unsigned) {
			return t
		}
	}
	return i64
}

// arithmetic is the oracle of add, sub, mul and div.
func arithmetic(op string, checked bool) Oracle {
	rule := func(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
		a, b := bare(in[0]), bare(in[1])
		if isNumber(a) && isNumber(b) {
			t := common(a, b)
			return []arrow.DataType{t, t}, t, nil
		}
		return temporalRule(op, a, b)
	}
	return func(in []*Column, opts compute.FunctionOptions) (*Column, error) {
		_, out, err := rule([]arrow.DataType{in[0].Type, in[1].Type})
		if err != nil {
			return nil, err
		}
		return each(rule, func(a, b any) (any, error) {
			switch x := a.(type) {
			case float32:
				return floats(op, checked, x, b.(float32))
			case float64:
				return floats(op, checked, x, b.(float64))
			}
			if isFloat(out) { // a duration by a duration
				return floats(op, checked, number(a), number(b))
			}
			return wholes(op, checked, integer(a), integer(b), out)
		})(in, opts)
	}
}

// wholes computes with integers of any size and fits the result to its type.
func wholes(op string, checked bool, a, b *big.Int, out arrow.DataType) (any, error) {
	v := new(big.Int)
	switch op {
	case "add":
		v.Add(a, b)
	case "sub":
		v.Sub(a, b)
	case "mul":
		v.Mul(a, b)
	case "div":
		if b.Sign() == 0 {
			return nil, errZero
		}
		v.Quo(a, b)
		if _, err := fitted(v, out, true); err != nil && !checked {
			return int64(0), nil // the smallest integer by -1
		}
	}
	if isTime(out) {
		if v.Sign() < 0 || v.Cmp(big.NewInt(ticksOf(out))) >= 0 {
			return nil, errOverflow
		}
	}
	return fitted(v, out, checked)
}

func floats[T float32 | float64](op string, checked bool, a, b T) (any, error) {
	switch op {
	case "add":
		return a + b, nil
	case "sub":
		return a - b, nil
	case "mul":
		return a * b, nil
	}
	if b == 0 && checked {
		return nil, errZero
	}
	return a / b, nil
}

// comparison is the oracle of a comparison, given what it says of the order of two values; NaN has none.
func comparison(holds func(order int) bool, unordered bool) Oracle {
	return each(toCompare, func(a, b any) (any, error) {
		switch x := a.(type) {
		case string:
			return holds(strings.Compare(x, b.(string))), nil
		case bool:
			return holds(cmp.Compare(btoi(x), btoi(b.(bool)))), nil
		case float32, float64:
			if isNaN(a) || isNaN(b) {
				return unordered, nil
			}
			return holds(cmp.Compare(number(a), number(b))), nil
		}
		return holds(integer(a).Cmp(integer(b))), nil
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
