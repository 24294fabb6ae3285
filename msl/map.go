package msl

import (
	"slices"
	"strings"
)

// input is one argument of a Map.
type input struct {
	Var       string // a, b or c
	Storage   string
	ValueType string
	Float     bool
	Load      string // its value in this row, "" where nothing asks
	Validity  string // its validity, "" where nothing asks
}

// nullFlags say of each input whether it has a validity bitmap.
var nullFlags = [...]Flags{ANulls, BNulls, CNulls}

// NullFlag is the flag of an input with a validity bitmap.
func NullFlag(input int) Flags { return nullFlags[input] }

// allNulls are the flags of so many inputs with validity bitmaps.
func allNulls(inputs int) (f Flags) {
	for _, n := range nullFlags[:inputs] {
		f |= n
	}
	return f
}

// HasOutValid says whether a Map or Gather of this key writes validity: OutValid is bound then, and only then.
func HasOutValid(k Key) bool {
	nulls := k.Flags & allNulls(len(nullFlags))
	switch k.Skeleton {
	case Gather:
		return nulls != 0
	case Map:
		e := exprs[k.Op]
		if e.Fills {
			return nulls == allNulls(e.Inputs())
		}
		return nulls != 0 && e.Valid != "true"
	}
	return false
}

// HasErr says whether a Map or Gather of this key writes error bits: Err is bound then, and only then.
func HasErr(k Key) bool {
	return k.Skeleton == Gather || k.Skeleton == Map && exprs[k.Op].Fails
}

// mapBuffers are the bindings of each input and its validity.
var mapBuffers = [...][2]int{{MapA, MapAValid}, {MapB, MapBValid}, {MapC, MapCValid}}

func describeMap(k *kernel) error {
	e, ok := exprs[k.Op]
	if !ok {
		return unsupported(k.Key, "the op is not defined")
	}
	if !identifier(k.Op) || e.Value == "" {
		return unsupported(k.Key, "the op's name is no identifier, or it has no expression")
	}
	n := e.Inputs()
	if err := k.allow(allNulls(n)|Pending, true, true, true); err != nil {
		return err
	}
	k.roots = tokens(e.Value + " " + e.Valid)
	k.file, k.Value, k.Fails, k.HasOutValid = "map", e.Value, e.Fails, HasOutValid(k.Key)
	k.Valid = k.validity(e, n)
	buffers := []parameter{
		{true, MapOut, "device " + k.Out.Storage + "* out"},
		{k.HasOutValid, MapOutValid, "device uint* out_valid"},
		{k.Fails, MapErr, "device atomic_uint* error"},
		{k.Pending(), MapLen, "device const ulong* len"},
	}
	for i, v := range variables[:n] {
		t := k.In
		if e.Fixed[i] != NoType {
			t = types[e.Fixed[i]]
		}
		in := k.input(v, t, k.Flags&nullFlags[i] != 0, e)
		k.Inputs = append(k.Inputs, in)
		buffers = append(buffers,
			parameter{slices.Contains(k.roots, v), mapBuffers[i][0], "device const " + t.Storage + "* " + v + "_in"},
			parameter{k.Flags&nullFlags[i] != 0 && in.Validity != "", mapBuffers[i][1], "device const uint* " + v + "_valid"})
	}
	if k.compares() {
		k.file = "compare"
	}
	k.Name = k.Op + "_" + k.In.Name
	if natural := e.natural(k.Key.In); natural != k.Key.Out {
		k.Name += "_to_" + k.Out.Name
	}
	k.Name += suffix(k.Key, n)
	if n == 3 {
		k.bind(Map3Params{}, MapArgs, buffers...)
	} else {
		k.bind(MapParams{}, MapArgs, buffers...)
	}
	return nil
}

// compares says whether the op makes bits of numbers: so little is written then that reads decide, and the skeleton is
// another.
func (k *kernel) compares() bool {
	reads := false
	for _, i := range k.Inputs {
		if i.Load != "" && i.ValueType == types[Bool].Value {
			return false
		}
		reads = reads || i.Load != ""
	}
	return reads && k.Out.Packed() && !k.Fails
}

// validity is the expression of the result's validity, "" where nobody reads it or it is that of a live row.
func (k *kernel) validity(e Expr, inputs int) string {
	nulls := k.Flags&allNulls(inputs) != 0
	switch {
	case !k.HasOutValid && !(k.Fails && nulls):
		return ""
	case e.Valid == "true":
		return ""
	case e.Valid != "":
		return e.Valid
	}
	return "v" + strings.Join(variables[:inputs], " && v")
}

// input describes how an argument is read.
func (k *kernel) input(v string, t typeInfo, nulls bool, e Expr) input {
	i := input{Var: v, Storage: t.Storage, ValueType: t.Value, Float: t.Float}
	at := "p." + v + "_off + row * p." + v + "_stride"
	switch {
	case !slices.Contains(k.roots, v): // the op asks for validity only
	case t.Packed():
		i.Load = "live && bit_at(" + v + "_in, " + at + ")"
	case t.Float:
		i.Load = t.Value + "{live ? " + v + "_in[" + at + "] : (" + t.Storage + ")0}"
	default:
		i.Load = "live ? " + v + "_in[" + at + "] : (" + t.Storage + ")0"
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
			truth = truth || depth == 0 && (t == "va" || t == "vb" || t == "vc") || i == 0 && strings.HasPrefix(t, "is_")
		}
	}
	if truth {
		return Bool
	}
	return in
}
