package repocheck

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// generated is how Go marks files that a program wrote.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

const maxLines = 500

func TestSources(t *testing.T) {
	files := 0
	sources(t, func(path string) {
		files++
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		if lines := bytes.Count(text, []byte("\n")); lines > maxLines && !generated.Match(text) {
			t.Errorf("%s has %d lines, more than %d", path, lines, maxLines)
		}
		formatted, err := format.Source(text)
		require.NoError(t, err, path)
		if !bytes.Equal(text, formatted) {
			t.Errorf("%s is not gofmt'd", path)
		}
	})
	require.Greater(t, files, 100)
}

// private finds paths of one machine: nothing here may depend on where it was written.
var private = regexp.MustCompile(`(^|[\s"'(=` + "`" + `])/(work|root|home|Users)/`)

func TestNoPrivatePaths(t *testing.T) {
	require.True(t, private.MatchString(`open("/`+`work/data")`), "the check can fail")
	for name := range strings.Lines(string(goTool(t, nil, "list", "-f", "{{.Dir}}", "./..."))) {
		dir := strings.TrimSpace(name)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			checkPaths(t, filepath.Join(dir, e.Name()), e.IsDir())
		}
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "Makefile", ".ci/run", ".ci/arm64", "go.mod"} {
		checkPaths(t, filepath.Join(root, name), false)
	}
}

func checkPaths(t *testing.T, path string, dir bool) {
	if dir || slices.Contains([]string{".gz", ".arrow", ".parquet", ".out", ".prof"}, filepath.Ext(path)) {
		return
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if found := private.Find(text); found != nil {
		t.Errorf("%s names a private path: %s", path, bytes.TrimSpace(found))
	}
}

// TestExportedIsDocumented reads the packages that users import.
func TestExportedIsDocumented(t *testing.T) {
	functions := 0
	for _, dir := range []string{"compute", "gpu", "memory", "msl"} {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		require.NoError(t, err)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			path := filepath.Join(root, dir, e.Name())
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !f.Name.IsExported() || !exportedReceiver(f) {
					continue
				}
				functions++
				if f.Doc == nil && !implementsStandard(f.Name.Name) {
					t.Errorf("%s: %s has no doc comment", set.Position(f.Pos()), f.Name.Name)
				}
			}
		}
	}
	require.Greater(t, functions, 100)
}

func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}

// implementsStandard names methods that the standard library documents.
func implementsStandard(name string) bool {
	return slices.Contains([]string{"String", "Error", "Is", "Unwrap"}, name)
}
