package msl_test

import "github.com/broadhead-go/broadhead/msl"

// definitions are the element-wise ops that the tests of kernel text work with.
var definitions = []struct {
	op    string
	expr  msl.Expr
	in    []msl.Type
	truth bool // the result is bool
}{
	{"add", msl.Expr{Value: "add_checked(a, b, bad)", Fails: true}, numbers, false},
	{"subtract", msl.Expr{Value: "sub_checked(a, b, bad)", Fails: true}, numbers, false},
	{"multiply", msl.Expr{Value: "mul_checked(a, b, bad)", Fails: true}, numbers, false},
	{"divide", msl.Expr{Value: "div_checked(a, b, bad)", Fails: true}, numbers, false},
	{"add_unchecked", msl.Expr{Value: "add_wrap(a, b)"}, numbers, false},
	{"subtract_unchecked", msl.Expr{Value: "sub_wrap(a, b)"}, numbers, false},
	{"multiply_unchecked", msl.Expr{Value: "mul_wrap(a, b)"}, numbers, false},
	{"divide_unchecked", msl.Expr{Value: "div_wrap(a, b, bad)", Fails: true}, numbers, false},
	{"negate", msl.Expr{Value: "neg_checked(a, bad)", Fails: true}, numbers, false},
	{"negate_unchecked", msl.Expr{Value: "neg_wrap(a)"}, numbers, false},
	{"abs", msl.Expr{Value: "abs_checked(a, bad)", Fails: true}, numbers, false},
	{"abs_unchecked", msl.Expr{Value: "abs_wrap(a)"}, numbers, false},
	{"equal", msl.Expr{Value: "a == b"}, all, true},
	{"not_equal", msl.Expr{Value: "a != b"}, all, true},
	{"less", msl.Expr{Value: "a < b"}, all, true},
	{"less_equal", msl.Expr{Value: "a <= b"}, all, true},
	{"greater", msl.Expr{Value: "a > b"}, all, true},
	{"greater_equal", msl.Expr{Value: "a >= b"}, all, true},
	{"and", msl.Expr{Value: "a && b"}, bools, true},
	{"or", msl.Expr{Value: "a || b"}, bools, true},
	{"xor", msl.Expr{Value: "a != b"}, bools, true},
	{"and_not", msl.Expr{Value: "a && !b"}, bools, true},
	{"not", msl.Expr{Value: "!a"}, bools, true},
	{"and_kleene", msl.Expr{Value: "a && b", Valid: "(va && vb) || (va && !a) || (vb && !b)"}, bools, true},
	{"or_kleene", msl.Expr{Value: "(va && a) || (vb && b)", Valid: "(va && vb) || (va && a) || (vb && b)"}, bools, true},
	{"and_not_kleene", msl.Expr{Value: "a && !b", Valid: "(va && vb) || (va && !a) || (vb && b)"}, bools, true},
	{"is_null", msl.Expr{Value: "!va", Valid: "true"}, all, true},
	{"is_null_nan", msl.Expr{Value: "!va || is_nan(a)", Valid: "true"}, floats, true},
	{"is_not_null", msl.Expr{Value: "va", Valid: "true"}, all, true},
	{"is_nan", msl.Expr{Value: "va && is_nan(a)", Valid: "true"}, numbers, true},
	{"is_nan_propagate", msl.Expr{Value: "is_nan(a)"}, numbers, true},
}

var (
	bools   = []msl.Type{msl.Bool}
	floats  = []msl.Type{msl.F32, msl.F64}
	numbers = []msl.Type{msl.I8, msl.I16, msl.I32, msl.I64, msl.U8, msl.U16, msl.U32, msl.U64, msl.F32, msl.F64}
	all     = append([]msl.Type{msl.Bool}, numbers...)
)

func init() {
	for _, d := range definitions {
		msl.Define(d.op, d.expr)
	}
}

// mapKeys lists the element-wise kernels of the definitions, without flags.
func mapKeys() []msl.Key {
	var list []msl.Key
	for _, d := range definitions {
		for _, t := range d.in {
			k := msl.Key{Skeleton: msl.Map, Op: d.op, In: t, Out: t}
			if d.truth {
				k.Out = msl.Bool
			}
			list = append(list, k)
		}
	}
	return list
}
