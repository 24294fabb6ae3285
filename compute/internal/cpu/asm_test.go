package cpu

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestAssemblyIsCalledInSlices shows that a goroutine can always be stopped
// soon: every function in assembly is called by nothing but the functions of
// the calls files, which are not inlined, check the stack, have no loop and let
// no call of more than maxRows rows through.
func TestAssemblyIsCalledInSlices(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fset, inGo, assembly := token.NewFileSet(), map[string][]*ast.FuncDecl{}, map[string]bool{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(fset, e.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body == nil {
				assembly[fn.Name.Name] = true
			} else if ok {
				inGo[e.Name()] = append(inGo[e.Name()], fn)
			}
		}
	}
	if len(assembly) == 0 {
		t.Fatal("no function in assembly was found")
	}
	for name, fns := range inGo {
		for _, fn := range fns {
			uses, loops := false, false
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					uses = uses || assembly[n.Name]
				case *ast.ForStmt, *ast.RangeStmt:
					loops = true
				}
				return true
			})
			if !uses {
				continue
			}
			if !strings.HasPrefix(name, "calls_") {
				t.Errorf("%s in %s calls assembly itself", fn.Name.Name, name)
				continue
			}
			first, ok := fn.Body.List[0].(*ast.ExprStmt)
			var called string
			if ok {
				if call, ok := first.X.(*ast.CallExpr); ok {
					called = call.Fun.(*ast.Ident).Name
				}
			}
			doc := ""
			for _, c := range fn.Doc.List {
				doc += c.Text + "\n"
			}
			switch {
			case called != "checkRows":
				t.Errorf("%s does not check the number of rows first", fn.Name.Name)
			case !strings.Contains(doc, "//go:noinline\n") || strings.Contains(doc, "//go:nosplit"):
				t.Errorf("%s can be inlined or has no stack check", fn.Name.Name)
			case loops:
				t.Errorf("%s loops", fn.Name.Name)
			}
		}
	}
}
