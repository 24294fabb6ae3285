package compute

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/msl"
)

// functions are the engine's own, by name; builtin are those that arrow-go came with.
var functions, builtin map[string]ac.Function

// known has both of a name, to be looked up at once.
var known = map[string]struct{ own, builtin ac.Function }{}

func init() {
	functions, builtin = buildFunctions()
	for _, names := range []map[string]ac.Function{functions, builtin} {
		for name := range names {
			known[name] = struct{ own, builtin ac.Function }{functions[name], builtin[name]}
		}
	}
}

// sameAs are names that arrow-go has twice.
var sameAs = map[string]string{"subtract": "sub", "subtract_unchecked": "sub_unchecked"}

// buildFunctions makes a function of every row of the tables.
func buildFunctions() (own, arrowgo map[string]ac.Function) {
	own, arrowgo = map[string]ac.Function{}, map[string]ac.Function{}
	reg := ac.GetFunctionRegistry()
	for _, name := range reg.GetFunctionNames() {
		arrowgo[name], _ = reg.GetFunction(name)
	}
	add := func(f *function, names ...string) {
		for _, name := range names {
			g := *f
			g.name, g.base, g.cache, g.onCPU = name, arrowgo[name], new(callCache), countersOf(name, cpuName)
			if g.base != nil {
				g.kind, g.doc = g.base.Kind(), g.base.Doc()
				if g.opts == nil {
					g.opts = g.base.DefaultOptions()
				}
			}
			own[name] = &g
		}
	}
	for _, table := range tables {
		for i := range table {
			o := &table[i]
			msl.Define(o.name, o.gpu)
			add(o.function(), o.name)
		}
	}
	for alias, name := range sameAs {
		add(own[name].(*function), alias)
	}
	for i := range aggregates {
		a := &aggregates[i]
		add(a.function(), a.name)
	}
	add(filterFunction(), "filter", "array_filter")
	add(takeFunction(), "take", "array_take")
	for _, ops := range castOps {
		msl.Define(ops[msl.I64].name, ops[msl.I64].gpu)
	}
	add(castFunction(), "cast")
	for _, op := range []string{msl.OpCumulativeSum, msl.OpCumulativeSumChecked} {
		add(cumulativeFunction(op), op)
	}
	for _, table := range []map[string]*function{setFunctions(), hashFunctions(), sortFunctions()} {
		for name, f := range table {
			add(f, name)
		}
	}
	// resolve closes over the function it belongs to
	for _, f := range own {
		g := f.(*function)
		resolve := g.resolve
		if resolve == nil {
			continue
		}
		g.resolve = func(opts FunctionOptions, in []arrow.DataType) (*call, error) {
			c, err := resolve(opts, in)
			if c != nil {
				c.fn, c.admit.fn = g, g.name
			}
			return c, err
		}
	}
	return own, arrowgo
}

// find is the function that a name means: one that the user registered, in the context's registry or globally, then the
// engine's, then arrow-go's.
func find(ctx context.Context, name string) (ac.Function, bool) {
	reg := GetExecCtx(ctx).Registry
	if reg == nil {
		reg = ac.GetFunctionRegistry()
	}
	f, ok := reg.GetFunction(name)
	k := known[name]
	if k.own == nil || ok && f != k.builtin {
		return f, ok
	}
	return k.own, true
}

// CallFunction calls a function by name: one that the program registered itself (in the context's registry or in
// arrow-go's global one), else Broadhead's, else arrow-go's.
//
// Arguments are arrays, chunked arrays and scalars; "filter" and "take" also take record batches and tables. Nil options
// are the function's defaults. Nulls, NaN and overflow are the function's matter. An unknown name is arrow.ErrKey; types
// without a kernel are arrow.ErrNotImplemented; bad arguments are arrow.ErrInvalid. The result belongs to the caller and
// comes from GetAllocator(ctx).
//
// The GPU is used where the function has a kernel and there are enough rows; [Explain] says so.
func CallFunction(ctx context.Context, name string, opts FunctionOptions, args ...Datum) (Datum, error) {
	f, ok := find(ctx, name)
	if !ok {
		return nil, fmt.Errorf("%w: function '%s' not found", arrow.ErrKey, name)
	}
	if own, ok := f.(*function); ok {
		return own.Execute(ctx, opts, args...)
	}
	for i, a := range args {
		if isNil(a) {
			return nil, fmt.Errorf("%w: function '%s': argument %d is nil or was released", arrow.ErrInvalid, name, i)
		}
	}
	if f != builtin[name] {
		return f.Execute(ctx, opts, args...)
	}
	return callArrow(ctx, f, opts, args)
}

// callArrays is CallFunction over arrays.
func callArrays(ctx context.Context, name string, opts FunctionOptions, args ...arrow.Array) (arrow.Array, error) {
	in := make([]Datum, len(args))
	for i, a := range args {
		d, err := datumOfArray(a)
		if err != nil {
			return nil, err
		}
		in[i] = d
	}
	out, err := CallFunction(ctx, name, opts, in...)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	return out.(*ArrayDatum).MakeArray(), nil
}

// datumOfArray borrows an array that is there.
func datumOfArray(a arrow.Array) (Datum, error) {
	if v := reflect.ValueOf(a); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("%w: an array is nil", arrow.ErrInvalid)
	}
	return NewDatumWithoutOwning(a), nil
}

var registerOnce sync.Once

// Register puts Broadhead's functions into arrow-go's global registry, for programs that call arrow-go's compute
// directly: its CallFunction(ctx, "sum", ...) then finds ours. Functions that the program registered itself stay.
// It is done once; there is no way back, since registries cannot forget.
func Register() {
	registerOnce.Do(func() {
		reg := ac.GetFunctionRegistry()
		for name, f := range functions {
			if have, ok := reg.GetFunction(name); !ok || have == builtin[name] {
				reg.AddFunction(f, true)
			}
		}
	})
}
