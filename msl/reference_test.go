package msl_test

import (
	"math"
	"math/big"

	"github.com/broadhead-go/broadhead/msl"
)

// edges are the values of a type at which kernels go wrong.
func edges(t msl.Type) []uint64 {
	switch t {
	case msl.Bool:
		return []uint64{0, 1}
	case msl.F32:
		var list []uint64
		for _, f := range []uint32{0, 1 << 31, 1, 1<<31 | 1, 0x007fffff, 0x00800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f800001,
			0x40400000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x1f800000} {
			list = append(list, uint64(f))
		}
		return list
	case msl.F64:
		var list []uint64
		for _, f := range []float64{0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022, -0x1p-1022,
			0x1.fffffffffffffp-1023, 1, -1, 1 + 0x1p-52, 3, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-511} {
			list = append(list, math.Float64bits(f))
		}
		return list
	}
	bits := 8 * width(t)
	mask := ^uint64(0) >> (64 - bits)
	top := uint64(1) << (bits - 1)
	half := uint64(1) << (bits / 2)
	list := []uint64{0, 1, 2, 3, mask, mask - 1, top, top - 1, top + 1, half, half - 1, half + 1, mask - half}
	for i := range list {
		list[i] &= mask
	}
	return list
}

func signed(t msl.Type) bool { return t >= msl.I8 && t <= msl.I64 }

func isFloat(t msl.Type) bool { return t == msl.F32 || t == msl.F64 }

// number is an integer of type t.
func number(t msl.Type, v uint64) *big.Int {
	if signed(t) {
		shift := 64 - 8*width(t)
		return big.NewInt(int64(v<<shift) >> shift)
	}
	return new(big.Int).SetUint64(v)
}

// fit wraps x into type t and says whether that changed it.
func fit(t msl.Type, x *big.Int) (v uint64, overflow bool) {
	mask := new(big.Int).SetUint64(^uint64(0) >> (64 - 8*width(t)))
	v = new(big.Int).And(x, mask).Uint64()
	return v, number(t, v).Cmp(x) != 0
}

// real is a float of type t; every binary32 value is one of binary64.
func real(t msl.Type, v uint64) float64 {
	if t == msl.F32 {
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(v)
}

func isNaN(t msl.Type, v uint64) bool { return isFloat(t) && math.IsNaN(real(t, v)) }

// same is equality of results: bit for bit, but any NaN is any other.
func same(t msl.Type, a, b uint64) bool {
	return a == b || isNaN(t, a) && isNaN(t, b)
}

// arithmetic is the reference of + - * / : the result and the error bits.
func arithmetic(t msl.Type, op byte, checked bool, a, b uint64) (uint64, uint32) {
	if isFloat(t) {
		return floatArithmetic(t, op, checked, a, b)
	}
	x, y, r := number(t, a), number(t, b), new(big.Int)
	switch op {
	case '+':
		r.Add(x, y)
	case '-':
		r.Sub(x, y)
	case '*':
		r.Mul(x, y)
	case '/':
		if y.Sign() == 0 {
			return 0, msl.ErrDivideByZero
		}
		r.Quo(x, y)
	}
	v, overflow := fit(t, r)
	switch {
	case overflow && checked:
		return v, msl.ErrOverflow
	case overflow && op == '/':
		return 0, 0
	}
	return v, 0
}

func floatArithmetic(t msl.Type, op byte, checked bool, a, b uint64) (uint64, uint32) {
	if op == '/' && checked && real(t, b) == 0 {
		return 0, msl.ErrDivideByZero
	}
	if t == msl.F32 {
		x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
		return uint64(math.Float32bits(calculate(op, x, y))), 0
	}
	return math.Float64bits(calculate(op, math.Float64frombits(a), math.Float64frombits(b))), 0
}

func calculate[F float32 | float64](op byte, x, y F) F {
	switch op {
	case '+':
		return x + y
	case '-':
		return x - y
	case '*':
		return x * y
	default:
		return x / y
	}
}

// order compares two values: -1, 0 or 1, and 2 if either is NaN.
func order(t msl.Type, a, b uint64) int {
	if !isFloat(t) {
		return number(t, a).Cmp(number(t, b))
	}
	switch x, y := real(t, a), real(t, b); {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	default:
		return 2
	}
}

// row is one row of a test of an element-wise op.
type row struct {
	t      msl.Type
	a, b   uint64
	va, vb bool
}

// answer is what the op should make of a row.
type answer struct {
	value uint64
	valid bool
	bad   uint32
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// references gives the meaning of the tested ops.
var references = map[string]func(row) answer{
	"is_null":          func(r row) answer { return answer{value: 1 - r.a, valid: true} }, // of validity as a column
	"is_not_null":      func(r row) answer { return answer{value: r.a, valid: true} },
	"test_is_valid":    func(r row) answer { return answer{value: truth(r.va), valid: true} },
	"is_null_or_nan":   func(r row) answer { return answer{value: truth(!r.va || isNaN(r.t, r.a)), valid: true} },
	"is_nan":           func(r row) answer { return answer{value: truth(r.va && isNaN(r.t, r.a)), valid: true} },
	"is_nan_propagate": func(r row) answer { return answer{value: truth(isNaN(r.t, r.a)), valid: r.va} },
	"not":              func(r row) answer { return answer{value: 1 - r.a, valid: r.va} },
	"and":              func(r row) answer { return answer{value: r.a & r.b, valid: r.va && r.vb} },
	"or":               func(r row) answer { return answer{value: r.a | r.b, valid: r.va && r.vb} },
	"xor":              func(r row) answer { return answer{value: r.a ^ r.b, valid: r.va && r.vb} },
	"and_not":          func(r row) answer { return answer{value: r.a &^ r.b, valid: r.va && r.vb} },
	"and_kleene":       func(r row) answer { return kleene(r, 1, 1) },
	"and_not_kleene":   func(r row) answer { return kleene(r, 1, 0) },
	"or_kleene": func(r row) answer {
		a := kleene(r, 0, 0) // not a and not b
		a.value = 1 - a.value
		return a
	},
	"negate":           func(r row) answer { return unary(r, true, true) },
	"negate_unchecked": func(r row) answer { return unary(r, false, true) },
	"abs":              func(r row) answer { return unary(r, true, negative(r)) },
	"abs_unchecked":    func(r row) answer { return unary(r, false, negative(r)) },
}

func bitsOf(t msl.Type) int { return 8 * width(t) }

func negative(r row) bool {
	return (signed(r.t) || isFloat(r.t)) && r.a>>(bitsOf(r.t)-1)&1 == 1
}

// unary negates where flip says so.
func unary(r row, checked, flip bool) answer {
	out := answer{value: r.a, valid: r.va}
	if !flip {
		return out
	}
	if isFloat(r.t) {
		out.value ^= 1 << (bitsOf(r.t) - 1)
		return out
	}
	v, overflow := fit(r.t, new(big.Int).Neg(number(r.t, r.a)))
	out.value = v
	if overflow && checked {
		out.bad = msl.ErrOverflow
	}
	return out
}

// kleene is the conjunction of a == x and b == y in three-valued logic.
func kleene(r row, x, y uint64) answer {
	a, b := r.a == x, r.b == y
	switch {
	case r.va && !a || r.vb && !b:
		return answer{value: 0, valid: true}
	case r.va && r.vb:
		return answer{value: 1, valid: true}
	default:
		return answer{}
	}
}

func init() {
	for name, op := range map[string]byte{"add": '+', "sub": '-', "multiply": '*', "divide": '/'} {
		for _, checked := range []bool{true, false} {
			n := name
			if !checked {
				n += "_unchecked"
			}
			references[n] = func(r row) answer {
				v, bad := arithmetic(r.t, op, checked, r.a, r.b)
				return answer{v, r.va && r.vb, bad}
			}
		}
	}
	for name, holds := range map[string]func(order int) bool{
		"equal":         func(o int) bool { return o == 0 },
		"not_equal":     func(o int) bool { return o != 0 },
		"less":          func(o int) bool { return o == -1 },
		"less_equal":    func(o int) bool { return o == -1 || o == 0 },
		"greater":       func(o int) bool { return o == 1 },
		"greater_equal": func(o int) bool { return o == 1 || o == 0 },
	} {
		references[name] = func(r row) answer {
			if r.t == msl.Bool {
				return answer{truth(holds(int(r.a) - int(r.b))), r.va && r.vb, 0}
			}
			return answer{truth(holds(order(r.t, r.a, r.b))), r.va && r.vb, 0}
		}
	}
}
