// Package darwincheck checks on any system what only a Mac with cgo can build, and holds what the Metal driver sends to
// DarwinKit's bindings, which were generated from Apple's documentation by others.
package darwincheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module    = "github.com/broadhead-go/broadhead"
	darwinkit = "github.com/progrium/darwinkit"
	root      = "../.."
)

// patterns are the packages that are checked; those that they import come along.
var patterns = []string{"./gpu/metal/darwinkit", "./examples/macdriver", "./bench/completion",
	darwinkit + "/macos/metal", darwinkit + "/macos/foundation", darwinkit + "/macos/coreml"}

// listed is what go list says about a package.
type listed struct {
	ImportPath, Dir   string
	GoFiles, CgoFiles []string
	ImportMap         map[string]string
	Standard          bool
}

// program is type-checked packages with their dependencies.
type program struct {
	set   *token.FileSet
	types map[string]*types.Package
	files map[string][]*ast.File // of our packages and DarwinKit's
	info  types.Info
	errs  []error
}

// load type-checks the patterns as darwin with cgo. No C compiler runs: what a package takes from C is not checked.
func load(goarch string) (*program, error) {
	list, err := list(goarch)
	if err != nil {
		return nil, err
	}
	p := &program{
		set:   token.NewFileSet(),
		types: map[string]*types.Package{"unsafe": types.Unsafe},
		files: map[string][]*ast.File{},
		info:  types.Info{Defs: map[*ast.Ident]types.Object{}},
	}
	for i := range list {
		if list[i].ImportPath != "unsafe" {
			p.check(&list[i], goarch)
		}
	}
	return p, nil
}

// list lists packages, dependencies before those that import them.
func list(goarch string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles,ImportMap,Standard"}, patterns...)...)
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "GOOS=darwin", "GOARCH="+goarch, "CGO_ENABLED=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return nil, err
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// check parses and checks one package. Function bodies are checked in ours only.
func (p *program) check(pkg *listed, goarch string) {
	var files []*ast.File
	for _, name := range append(pkg.GoFiles, pkg.CgoFiles...) {
		f, err := parser.ParseFile(p.set, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			p.errs = append(p.errs, err)
			continue
		}
		files = append(files, f)
	}
	ours := strings.HasPrefix(pkg.ImportPath, module)
	config := types.Config{
		FakeImportC:      true,
		IgnoreFuncBodies: !ours,
		Sizes:            types.SizesFor("gc", goarch),
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped := pkg.ImportMap[path]; mapped != "" {
				path = mapped
			}
			if found := p.types[path]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("%s is not loaded", path)
		}),
		Error: func(err error) {
			if !pkg.Standard { // FakeImportC leaves untyped holes in some of the standard library's
				p.errs = append(p.errs, err)
			}
		},
	}
	var info *types.Info
	if ours || strings.HasPrefix(pkg.ImportPath, darwinkit) {
		info, p.files[pkg.ImportPath] = &p.info, files
	}
	p.types[pkg.ImportPath], _ = config.Check(pkg.ImportPath, p.set, files, info) // errors go to Error
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }

var arm64 = sync.OnceValues(func() (*program, error) { return load("arm64") })

func TestTypeChecksWithDarwinKit(t *testing.T) {
	for _, goarch := range []string{"arm64", "amd64"} {
		p, err := load(goarch)
		require.NoError(t, err)
		require.Empty(t, p.errs, goarch)
		for _, path := range []string{module + "/gpu/metal/darwinkit", module + "/examples/macdriver"} {
			require.Greater(t, len(p.files[path]), 1, "%s for darwin/%s with cgo", path, goarch)
		}
		require.NotNil(t, p.types[module+"/gpu/metal/darwinkit"].Scope().Lookup("Adopt"))
	}
}

// TestWrongUseIsSeen shows that the check can fail.
func TestWrongUseIsSeen(t *testing.T) {
	p, err := arm64()
	require.NoError(t, err)
	for name, text := range map[string]string{
		"a method that is not there":  `func f(e kit.ComputeCommandEncoderObject) { e.EndEncoding() }`,
		"an argument of another kind": `func f(d kit.DeviceObject, q kit.CommandQueueObject) { darwinkit.Adopt(q, d) }`,
		"a result that is not used":   `func f(b kit.BufferObject) { x := darwinkit.Bytes(b) }`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "wrong.go")
			source := "package wrong\n\nimport (\n\tkit \"" + darwinkit + "/macos/metal\"\n\t\"" + module + "/gpu/metal/darwinkit\"\n)\n\n" +
				"var _ = darwinkit.Adopt\nvar _ kit.DeviceObject\n" + text + "\n"
			require.NoError(t, os.WriteFile(path, []byte(source), 0o600))
			q := *p
			q.errs = nil
			q.check(&listed{ImportPath: module + "/wrong", Dir: filepath.Dir(path), GoFiles: []string{"wrong.go"}}, "arm64")
			require.NotEmpty(t, q.errs)
		})
	}
}
