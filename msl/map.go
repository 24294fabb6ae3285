package msl

import (
	"slices"
	"strings"
)

// input is one argument of a Map.
type input struct {
	Var       string // a or b
	ValueType string
	Load      string // its value in this row, "" where nothing asks
	Validity  string // its validity, "" where nothing asks
}

// HasOutValid says whether a Map or Gather of this key writes validity: OutValid is bound then, and only then.
func HasOutValid(k Key) bool {
	nulls := k.Flags&(ANulls|BNulls) != 0
	return nulls && (k.Skeleton == Gather || k.Skeleton == Map && exprs[k.Op].Valid != "true")
}

// HasErr says whether a Map or Gather of this key writes error bits: Err is bound then, and only then.
func HasErr(k Key) bool {
	return k.Skeleton == Gather || k.Skeleton == Map && exprs[k.Op].Fails
}

func describeMap(k *kernel) error {
	e, ok := exprs[k.Op]
	if !ok {
		return unsupported(k.Key, "the op is not defined")
	}
	if !identifier(k.Op) || e.Value == "" {
		return unsupported(k.Key, "the op's name is no identifier, or it has no expression")
	}
	if err := k.allow(ANulls|BNulls|Pending, true, true, true); err != nil {
		return err
	}
	k.roots = tokens(e.Value + " " + e.Valid)
	two := two(k.Op)
	if k.BNulls() && !two {
		return unsupported(k.Key, "the op has one input")
	}
	k.file, k.Value, k.Fails, k.HasOutValid = "map", e.Value, e.Fails, HasOutValid(k.Key)
	k.Valid = k.validity(e, two)
	k.Inputs = append(k.Inputs, k.input("a", k.ANulls(), e))
	if two {
		k.Inputs = append(k.Inputs, k.input("b", k.BNulls(), e))
	}
	k.Name = k.Op + "_" + k.In.Name
	if natural := e.natural(k.Key.In); natural != k.Key.Out {
		k.Name += "_to_" + k.Out.Name
	}
	k.Name += suffix(k.Key, two)
	reads := func(v string) bool { return slices.Contains(k.roots, v) }
	in := "device const " + k.In.Storage + "* "
	k.bind(MapParams{}, MapArgs,
		parameter{reads("a"), MapA, in + "a_in"},
		parameter{k.ANulls() && k.Inputs[0].Validity != "", MapAValid, "device const uint* a_valid"},
		parameter{reads("b"), MapB, in + "b_in"},
		parameter{k.BNulls() && k.Inputs[1].Validity != "", MapBValid, "device const uint* b_valid"},
		parameter{true, MapOut, "device " + k.Out.Storage + "* out"},
		parameter{k.HasOutValid, MapOutValid, "device uint* out_valid"},
		parameter{k.Fails, MapErr, "device atomic_uint* error"},
		parameter{k.Pending(), MapLen, "device const ulong* len"},
	)
	return nil
}

// validity is the expression of the result's validity, "" where nobody reads it or it is that of a live row.
func (k *kernel) validity(e Expr, two bool) string {
	nulls := k.ANulls() || k.BNulls()
	switch {
	case !k.HasOutValid && !(k.Fails && nulls):
		return ""
	case e.Valid == "true":
		return ""
	case e.Valid != "":
		return e.Valid
	case two:
		return "va && vb"
	default:
		return "va"
	}
}

// input describes how an argument is read.
func (k *kernel) input(v string, nulls bool, e Expr) input {
	i := input{Var: v, ValueType: k.In.Value}
	at := "p." + v + "_off + row * p." + v + "_stride"
	switch {
	case !slices.Contains(k.roots, v): // the op asks for validity only
	case k.In.Packed():
		i.Load = "live && bit_at(" + v + "_in, " + at + ")"
	case k.In.Float:
		i.Load = k.In.Value + "{live ? " + v + "_in[" + at + "] : (" + k.In.Storage + ")0}"
	default:
		i.Load = "live ? " + v + "_in[" + at + "] : (" + k.In.Storage + ")0"
	}
	if !slices.Contains(append(tokens(e.Value), tokens(k.Valid)...), "v"+v) {
		return i
	}
	i.Validity = "live"
	if nulls {
		i.Validity = "live && bit_at(" + v + "_valid, p." + v + "_valid + row * p." + v + "_stride)"
	}
	return i
}

// two says whether an op has two inputs.
func two(op string) bool {
	list := tokens(exprs[op].Value + " " + exprs[op].Valid)
	return slices.Contains(list, "b") || slices.Contains(list, "vb")
}

// natural is the type of the expression's value as a name leaves it out: bool for comparisons and logic, else that of
// the inputs.
func (e Expr) natural(in Type) Type {
	depth := 0
	truth := false
	list := tokens(e.Value)
	for i, t := range list {
		switch t {
		case "(":
			depth++
		case ")":
			depth--
		case "==", "!=", "<", "<=", ">", ">=", "&&", "||":
			truth = truth || depth == 0
		case "!":
			truth = truth || i == 0
		case "?":
			if depth == 0 {
				return in
			}
		default:
			truth = truth || depth == 0 && (t == "va" || t == "vb") || i == 0 && strings.HasPrefix(t, "is_")
		}
	}
	if truth {
		return Bool
	}
	return in
}
