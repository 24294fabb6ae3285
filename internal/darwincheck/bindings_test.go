package darwincheck

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// binding is a method of DarwinKit's: the type it is of, the selector it sends, and its type encoding.
type binding struct{ receiver, selector string }

// bindings are the methods that send a message, by the bodies that the generator wrote: objc.Call[R](x, objc.Sel("s"), ...).
func (p *program) bindings(packages ...string) map[binding]string {
	found := map[binding]string{}
	for _, path := range packages {
		for _, file := range p.files[darwinkit+path] {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv == nil || f.Body == nil {
					continue
				}
				sig := p.info.Defs[f.Name].Type().(*types.Signature)
				receiver, ok := types.Unalias(sig.Recv().Type()).(*types.Named)
				if selector := sent(f.Body); ok && selector != "" {
					found[binding{receiver.Obj().Name(), selector}] = encode(sig)
				}
			}
		}
	}
	return found
}

// sent is the selector of the objc.Call in a body, "" if there is none.
func sent(body *ast.BlockStmt) (selector string) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		if index, ok := call.Fun.(*ast.IndexExpr); !ok || named(index.X) != "Call" {
			return true
		}
		inner, ok := call.Args[1].(*ast.CallExpr)
		if ok && named(inner.Fun) == "Sel" && len(inner.Args) == 1 {
			if lit, ok := inner.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				selector, _ = strconv.Unquote(lit.Value)
			}
		}
		return true
	})
	return selector
}

// named is the last part of a name.
func named(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// encode writes the type encoding of a method with a signature, in the plain form (see plain).
func encode(sig *types.Signature) string {
	var b strings.Builder
	if sig.Results().Len() == 0 {
		b.WriteByte('v')
	} else {
		b.WriteString(encodeType(sig.Results().At(0).Type()))
	}
	b.WriteString("@:")
	for i := range sig.Params().Len() {
		b.WriteString(encodeType(sig.Params().At(i).Type()))
	}
	return b.String()
}

func encodeType(t types.Type) string {
	if isObject(t) {
		return "@"
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if code, ok := map[types.BasicKind]string{
			types.Int: "q", types.Int64: "q", types.Uint: "Q", types.Uint64: "Q", types.Int32: "i", types.Uint32: "I",
			types.Bool: "B", types.Float64: "d", types.Float32: "f", types.String: "@", types.UnsafePointer: "^",
		}[u.Kind()]; ok {
			return code
		}
	case *types.Pointer:
		return "^"
	case *types.Signature:
		return "@?"
	case *types.Interface:
		return "@"
	case *types.Struct:
		fields := ""
		for i := range u.NumFields() {
			fields += encodeType(u.Field(i).Type())
		}
		return "{=" + fields + "}"
	}
	return "<" + t.String() + ">"
}

// isObject says whether a type is objc.Object or embeds it.
func isObject(t types.Type) bool {
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Name() == "Object" && n.Obj().Pkg().Path() == darwinkit+"/objc" {
		return true
	}
	s, ok := t.Underlying().(*types.Struct)
	return ok && s.NumFields() > 0 && s.Field(0).Embedded() && isObject(s.Field(0).Type())
}

// plain is an encoding without what a Go type does not tell: what a pointer points to, and the names of structs.
func plain(encoding string) string {
	var b strings.Builder
	for i := 0; i < len(encoding); i++ {
		switch c := encoding[i]; c {
		case '^':
			i++ // the pointee has one letter
			b.WriteByte('^')
		case '*':
			b.WriteByte('^')
		case '{':
			i += strings.IndexByte(encoding[i:], '=')
			b.WriteString("{=")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// constant is the value of a package's constant, nil if there is none of that name.
func (p *program) constant(path, name string) constant.Value {
	c, ok := p.types[path].Scope().Lookup(name).(*types.Const)
	if !ok {
		return nil
	}
	return c.Val()
}
