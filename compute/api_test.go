package compute_test

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"testing"

	"github.com/broadhead-go/broadhead/compute/internal/apigen/apiset"
)

// A program that changes arrow-go's import path for ours must still compile:
// every exported identifier is here, of the same kind, with an assignable type.
func TestAPIHasAllOfArrowGo(t *testing.T) {
	if testing.Short() {
		t.Skip("the same for every build")
	}
	set, err := apiset.Load(apiset.ArrowCompute, apiset.Broadhead)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := set.Package(apiset.ArrowCompute)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := set.Package(apiset.Broadhead)
	if err != nil {
		t.Fatal(err)
	}
	want := apiset.Exported(theirs)
	if len(want) < 200 {
		t.Fatalf("only %d exported identifiers read from %s", len(want), apiset.ArrowCompute)
	}
	for _, w := range want {
		if err := compatible(ours.Scope().Lookup(w.Name()), w); err != nil {
			t.Errorf("%s: %v", w.Name(), err)
		}
	}
}

// The comparison must be able to fail.
func TestAPIComparisonCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("the same for every build")
	}
	set, err := apiset.Load(apiset.ArrowCompute)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := set.Package(apiset.ArrowCompute)
	if err != nil {
		t.Fatal(err)
	}
	object := func(name string) types.Object { return pkg.Scope().Lookup(name) }
	for _, pair := range [][2]string{
		{"NoSuchName", "Add"},                        // missing
		{"Datum", "Add"},                             // another kind
		{"Unique", "Add"},                            // another signature
		{"ArrayDatum", "Function"},                   // methods missing
		{"ArrayDatum", "ArithmeticOptions"},          // fields missing
		{"SelectionEmitNulls", "SelectionDropNulls"}, // another value
		{"ErrEmpty", "EmptyFuncDoc"},                 // another type
	} {
		if compatible(object(pair[0]), object(pair[1])) == nil {
			t.Errorf("%s passes for %s", pair[0], pair[1])
		}
	}
	if err := compatible(object("Add"), object("Subtract")); err != nil {
		t.Errorf("equal signatures: %v", err)
	}
}

func compatible(have, want types.Object) error {
	if have == nil {
		return fmt.Errorf("missing")
	}
	switch w := want.(type) {
	case *types.TypeName:
		h, ok := have.(*types.TypeName)
		if !ok {
			return fmt.Errorf("not a type")
		}
		return compatibleTypes(h.Type(), w.Type())
	case *types.Const:
		h, ok := have.(*types.Const)
		if !ok || !types.Identical(h.Type(), w.Type()) || !constant.Compare(h.Val(), token.EQL, w.Val()) {
			return fmt.Errorf("want the constant %v", w)
		}
	case *types.Var:
		if h, ok := have.(*types.Var); !ok || !types.Identical(h.Type(), w.Type()) {
			return fmt.Errorf("want %v, have %v", w, have)
		}
	case *types.Func:
		if h, ok := have.(*types.Func); !ok || !types.Identical(h.Type(), w.Type()) {
			return fmt.Errorf("want %v, have %v", w, have)
		}
	}
	return nil
}

// compatibleTypes holds for an alias by identity. A type that we declare
// ourselves must have the original's methods and exported fields.
func compatibleTypes(have, want types.Type) error {
	if types.Identical(have, want) {
		return nil
	}
	methods := types.NewMethodSet(pointerTo(have))
	for m := range types.NewMethodSet(pointerTo(want)).Methods() {
		f := m.Obj()
		if !f.Exported() {
			continue
		}
		h := methods.Lookup(nil, f.Name())
		if h == nil || !types.Identical(h.Obj().Type(), f.Type()) {
			return fmt.Errorf("method %s missing or of another type", f.Name())
		}
	}
	ws, ok := want.Underlying().(*types.Struct)
	if !ok {
		if !types.Identical(have.Underlying(), want.Underlying()) {
			return fmt.Errorf("underlying type %v, want %v", have.Underlying(), want.Underlying())
		}
		return nil
	}
	for f := range ws.Fields() {
		if !f.Exported() {
			continue
		}
		obj, _, _ := types.LookupFieldOrMethod(have, true, nil, f.Name())
		if obj == nil || !types.Identical(obj.Type(), f.Type()) {
			return fmt.Errorf("field %s missing or of another type", f.Name())
		}
	}
	return nil
}

func pointerTo(t types.Type) types.Type {
	if types.IsInterface(t) {
		return t
	}
	return types.NewPointer(t)
}
