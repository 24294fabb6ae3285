package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/msl"
)

// setDoc documents a function that looks values up in a set.
func setDoc(summary string, args ...string) FunctionDoc {
	return FunctionDoc{Summary: summary, ArgNames: args, OptionsType: "SetOptions", OptionsRequired: len(args) == 1}
}

// setFunctions look values up in a set, by name: one that options hold, or one that is the second argument.
func setFunctions() map[string]*function {
	fs := map[string]*function{
		"is_in":    {doc: setDoc("Find each element in a set of values", "values"), resolve: resolveIsIn},
		"index_in": {doc: setDoc("Index of each element in a set of values", "values"), resolve: resolveIndexIn},
	}
	for _, name := range []string{"is_in", "index_in"} {
		f := fs[name]
		f.kind, f.arity, f.elementWise = ac.FuncScalar, Arity{NArgs: 1}, true
		meta := &function{kind: ac.FuncMeta, arity: Arity{NArgs: 2}, doc: setDoc(f.doc.Summary, "values", "value_set")}
		meta.whole = func(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
			if opts != nil {
				return nil, fmt.Errorf("%w: function '%s_meta_binary' takes no options but a set as its second argument, got %T",
					arrow.ErrInvalid, name, opts)
			}
			return functions[name].Execute(ctx, &SetOptions{ValueSet: args[1]}, args[0])
		}
		fs[name+"_meta_binary"] = meta
	}
	return fs
}

// valueSet is the set of a call, in the type that both meet in.
type valueSet struct {
	typ    arrow.DataType
	values Datum // an array or chunks, the caller's unless owned
	owned  bool
	casts  []arrow.DataType
	nulls  ac.NullMatchingBehavior
}

// valueSetOf takes the set out of options: cast to the type of the values where that loses nothing, else the values will
// be cast.
func valueSetOf(name string, opts FunctionOptions, in arrow.DataType) (*valueSet, error) {
	none := func() *SetOptions { return nil }
	o, err := optionsOf(name, opts, none)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, fmt.Errorf("%w: function '%s' cannot be called without SetOptions", arrow.ErrInvalid, name)
	}
	if isNil(o.ValueSet) {
		return nil, fmt.Errorf("%w: function '%s': the set of values is nil or was released", arrow.ErrInvalid, name)
	}
	if o.NullBehavior < NullMatchingMatch || o.NullBehavior > NullMatchingInconclusive {
		return nil, fmt.Errorf("%w: function '%s' has no null matching %d", arrow.ErrInvalid, name, o.NullBehavior)
	}
	if k := o.ValueSet.Kind(); k != ac.KindArray && k != ac.KindChunked {
		return nil, fmt.Errorf("%w: function '%s': the set of values is a %s, want an array or chunks", arrow.ErrInvalid, name, k)
	}
	set := o.ValueSet.(ArrayLikeDatum)
	t, st := bare(in), set.Type()
	v := &valueSet{nulls: o.NullBehavior, casts: steps(in)}
	mismatch := fmt.Errorf("%w: array type doesn't match type of values set: %s vs %s", arrow.ErrInvalid, t, st)
	stringLike := func(t arrow.DataType) bool { return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING }
	zoned, ok := timestamps(t, st)
	switch {
	case ok && !zoned:
		return nil, mismatch
	case sameValues(t, st), isStrings(t) && isStrings(st) && t.ID() == st.ID() && t.ID() != arrow.FIXED_SIZE_BINARY:
		v.typ, v.values = t, set
		return v, nil
	case stringLike(t) && !arrow.IsBaseBinary(st.ID()):
		return nil, mismatch // most types can be cast to text, which would surprise
	}
	ctx := WithAllocator(context.Background(), arrowmem.DefaultAllocator)
	cast, err := castAll(ctx, set, steps(st, t), false)
	switch {
	case err == nil && len(steps(st, t)) > 0:
		v.typ, v.values, v.owned = t, cast, true
		return v, nil
	case err == nil:
		v.typ, v.values = t, set
		return v, nil
	case !ac.CanCast(t, st), stringLike(st) && !arrow.IsBaseBinary(t.ID()):
		return nil, mismatch
	}
	v.typ, v.values, v.casts = st, set, steps(in, st)
	return v, nil
}

// timestamps says whether both are timestamps, and whether both or neither have a zone.
func timestamps(a, b arrow.DataType) (zones, ok bool) {
	if a.ID() != arrow.TIMESTAMP || b.ID() != arrow.TIMESTAMP {
		return true, false
	}
	return (zoneOf(a) == "") == (zoneOf(b) == ""), true
}

// release gives back what the set took.
func (v *valueSet) release() {
	if v.owned {
		v.values.Release()
	}
}

// resolveIsIn makes the call of is_in. The set is put into a table here, so that the call can be used many times and
// keeps nothing of its options.
func resolveIsIn(opts FunctionOptions, in []arrow.DataType) (*call, error) {
	v, err := valueSetOf("is_in", opts, in[0])
	if err != nil {
		return nil, err
	}
	defer v.release()
	m, err := newMembership(v)
	if err != nil {
		return nil, err
	}
	c := &call{
		out: arrow.FixedWidthTypes.Boolean, cross: crossCompare,
		nulls: func(args []bool) bool { return m.mayBeNull(args[0]) },
		cpu:   m.run,
	}
	c.casts[0] = v.casts
	m.onDevice(c, in[0])
	return c, nil
}

// resolveIndexIn makes the call of index_in.
func resolveIndexIn(opts FunctionOptions, in []arrow.DataType) (*call, error) {
	v, err := valueSetOf("index_in", opts, in[0])
	if err != nil {
		return nil, err
	}
	defer v.release()
	m, err := newPositions(v)
	if err != nil {
		return nil, err
	}
	c := &call{
		out: arrow.PrimitiveTypes.Int32, in: msl.I32, cross: crossMap, noGPU: "no GPU kernel",
		nulls: func([]bool) bool { return true },
		cpu:   m.run,
	}
	c.casts[0] = v.casts
	return c, nil
}

// IsIn says of each value whether it is in a set.
//
// Values are an array, chunks or a scalar; the set is an array or chunks. Types of numbers, time, decimals, intervals,
// Bool, text and binaries; dictionaries count by their values. Where the types differ the set is cast to the values' type
// if that loses nothing, else the values are cast to the set's. The result is Bool, as long as the values.
//
// NullBehavior decides about nulls: with NullMatchingMatch a null is in the set if the set has a null; NullMatchingSkip
// says false of nulls; NullMatchingEmitNull says null of them; NullMatchingInconclusive says null of them too, and of
// values that are not in a set with a null. NaN is in a set that has one; -0 and 0 are two values. Types that do not
// match, and a set that is neither an array nor chunks, are arrow.ErrInvalid; a type without a kernel is
// arrow.ErrNotImplemented.
//
// The GPU is used from the crossover on for numbers, dates, times and durations, if the set has 256 values at most.
//
// Source: the table is of R. Pagh's Hash and Displace (1999).
func IsIn(ctx context.Context, opts SetOptions, values Datum) (Datum, error) {
	return CallFunction(ctx, "is_in", &opts, values)
}

// IsInSet is [IsIn] with the default behaviour of nulls: a null is in a set that has one.
func IsInSet(ctx context.Context, valueSet, values Datum) (Datum, error) {
	return IsIn(ctx, SetOptions{ValueSet: valueSet}, values)
}

// IndexIn is the index of each value in a set, of the first of equal ones, as an int32; null where it is not in the set.
// With NullMatchingMatch a null has the index of the set's null. All else is as for [IsIn], but that the GPU is not used.
func IndexIn(ctx context.Context, opts SetOptions, values Datum) (Datum, error) {
	return CallFunction(ctx, "index_in", &opts, values)
}
