package computetest

import (
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

// Oracle answers a call slowly and obviously right.
type Oracle func(in []*Column, opts compute.FunctionOptions) (*Column, error)

var (
	errInvalid   = arrow.ErrInvalid
	errNoKernel  = arrow.ErrNotImplemented
	errOverflow  = fmt.Errorf("%w: overflow", arrow.ErrInvalid)
	errZero      = fmt.Errorf("%w: division by zero", arrow.ErrInvalid)
	errLength    = fmt.Errorf("%w: lengths differ", arrow.ErrInvalid)
	errLossyCast = fmt.Errorf("%w: the cast loses data", arrow.ErrInvalid)
)

// typeRule gives the types that arguments are cast to and the result's.
type typeRule func(in []arrow.DataType) (casts []arrow.DataType, out arrow.DataType, err error)

// each is the oracle of a function that works row by row and is null where an argument is.
func each(types typeRule, f func(a, b any) (any, error)) Oracle {
	return eachRow(types, func(v []any) (any, error) {
		for _, x := range v {
			if x == nil {
				return nil, nil
			}
		}
		return f(v[0], v[len(v)-1])
	})
}

// eachRow is the oracle of a function that works row by row and sees nulls.
func eachRow(types typeRule, f func(v []any) (any, error)) Oracle {
	return func(in []*Column, _ compute.FunctionOptions) (*Column, error) {
		bareIn := make([]arrow.DataType, len(in))
		for i, c := range in {
			bareIn[i] = c.Type
		}
		casts, out, err := types(bareIn)
		if err != nil {
			return nil, err
		}
		n, form, err := shapeOf(in)
		if err != nil {
			return nil, err
		}
		rows := make([][]any, len(in))
		for i, c := range in {
			if rows[i], err = castRows(c, casts[i]); err != nil {
				return nil, err
			}
		}
		res := &Column{Type: out, Form: form, Rows: make([]any, n)}
		for r := range n {
			v := make([]any, len(in))
			for i, c := range in {
				v[i] = rows[i][r*(min(1, int(c.Form)))]
			}
			if res.Rows[r], err = f(v); err != nil {
				return nil, err
			}
		}
		return res, nil
	}
}

// shapeOf is the number of rows and the form of a result.
func shapeOf(in []*Column) (n int, form Form, err error) {
	n = -1
	for _, c := range in {
		form = max(form, c.Form)
		if c.Form == Scalar {
			continue
		}
		if n >= 0 && n != len(c.Rows) {
			return 0, form, errLength
		}
		n = len(c.Rows)
	}
	if n < 0 {
		n = 1
	}
	return n, form, nil
}

// castRows casts valid rows; a value that does not survive the way there and back is an error.
func castRows(c *Column, to arrow.DataType) ([]any, error) {
	out := make([]any, len(c.Rows))
	for i, v := range c.Rows {
		if v == nil {
			continue
		}
		var err error
		if out[i], err = castValue(v, bare(c.Type), to); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func castValue(v any, from, to arrow.DataType) (any, error) {
	switch {
	case isTemporal(from) && isTemporal(to):
		return scaled(v.(int64), ticksOf(from), ticksOf(to), to)
	case isInteger(from) && isInteger(to):
		return fitted(integer(v), to, true)
	case isInteger(from) && isFloat(to):
		// exact up to 2^24 and 2^53, as Arrow's safe casts have it
		limit := int64(1) << 53
		if to.ID() == arrow.FLOAT32 {
			limit = 1 << 24
		}
		if integer(v).CmpAbs(big.NewInt(limit)) > 0 {
			return nil, errLossyCast
		}
		f, _ := new(big.Float).SetInt(integer(v)).Float64()
		if to.ID() == arrow.FLOAT32 {
			return float32(f), nil
		}
		return f, nil
	case from.ID() == arrow.FLOAT32 && to.ID() == arrow.FLOAT64:
		return float64(v.(float32)), nil
	}
	return v, nil
}

// integer is a boxed integer without a limit.
func integer(v any) *big.Int {
	if u, ok := v.(uint64); ok {
		return new(big.Int).SetUint64(u)
	}
	return big.NewInt(v.(int64))
}

// powers are 2^8 to 2^64 by width.
var powers = map[int]*big.Int{}

func init() {
	for bits := 8; bits <= 64; bits *= 2 {
		powers[bits] = new(big.Int).Lsh(big.NewInt(1), uint(bits))
	}
}

// fitted is an integer as a value of type t: an error if it does not fit and checked says so, else wrapped around.
func fitted(v *big.Int, t arrow.DataType, checked bool) (any, error) {
	bits := bitsOf(t)
	low := new(big.Int).Mod(v, powers[bits])
	if isSigned(t) && low.Bit(bits-1) == 1 {
		low.Sub(low, powers[bits])
	}
	if checked && low.Cmp(v) != 0 {
		return nil, errOverflow
	}
	if isSigned(t) {
		return low.Int64(), nil
	}
	return low.Uint64(), nil
}

// number is a boxed number as a float64; integers may round.
func number(v any) float64 {
	switch x := v.(type) {
	case float32:
		return float64(x)
	case float64:
		return x
	}
	f, _ := new(big.Float).SetInt(integer(v)).Float64()
	return f
}

func isNaN(v any) bool { return math.IsNaN(number(v)) }
