package main

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// readDocs returns, for each exported identifier, the first sentence of its
// comment, and its deprecation notice as a second paragraph if it has one.
func readDocs(dir string, names []string) (map[string]string, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	pkg, err := doc.NewFromFiles(fset, files, "compute")
	if err != nil {
		return nil, err
	}
	docs := map[string]string{}
	note := func(name, text string) {
		if s := summary(pkg, text); s != "" {
			docs[name] = s
		}
	}
	for _, f := range pkg.Funcs {
		note(f.Name, f.Doc)
	}
	noteValues(pkg.Consts, note)
	noteValues(pkg.Vars, note)
	for _, t := range pkg.Types {
		note(t.Name, t.Doc)
		for _, f := range t.Funcs {
			note(f.Name, f.Doc)
		}
		noteValues(t.Consts, note)
		noteValues(t.Vars, note)
	}
	return docs, nil
}

func noteValues(vs []*doc.Value, note func(name, text string)) {
	for _, v := range vs {
		for _, spec := range v.Decl.Specs {
			vspec, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for _, n := range vspec.Names {
				note(n.Name, vspec.Doc.Text())
			}
		}
	}
}

func summary(pkg *doc.Package, text string) string {
	s := pkg.Synopsis(text)
	if strings.HasPrefix(s, "Deprecated:") {
		return s
	}
	for _, para := range strings.Split(text, "\n\n") {
		if strings.HasPrefix(para, "Deprecated:") {
			s += "\n\n" + strings.TrimSpace(para)
		}
	}
	return s
}

// declared lists the exported identifiers of package compute's own files:
// those need no forward. Every file counts whatever its build constraints, so
// that the generated file is the same on every system.
func declared(dir string) (map[string]bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || name == outName || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			addDeclared(own, d)
		}
	}
	return own, nil
}

func addDeclared(own map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			own[d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				own[spec.Name.Name] = true
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					own[n.Name] = true
				}
			}
		}
	}
}
