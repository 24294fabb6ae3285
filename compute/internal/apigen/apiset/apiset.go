// Package apiset loads the exported API of compiled Go packages. The generator
// writes forwards from it, and a test of package compute compares two of them.
package apiset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"sort"
)

// ArrowCompute is the import path whose API package compute offers again.
const ArrowCompute = "github.com/apache/arrow-go/v18/arrow/compute"

// Broadhead is the import path that a program uses in its place.
const Broadhead = "github.com/broadhead-go/broadhead/compute"

// listed is the part of `go list -json` that a load needs.
type listed struct {
	ImportPath string
	Dir        string
	Export     string
	GoFiles    []string
}

// Set holds packages that share one importer, so that a type which several of
// them mention is the same types.Type in all.
type Set struct {
	list map[string]listed
	imp  types.Importer
}

// Load compiles the packages where needed (through the go command's build
// cache) and makes their exported API readable. The paths are resolved in the
// current directory's module.
func Load(paths ...string) (*Set, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, paths...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	s := &Set{list: map[string]listed{}}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		s.list[p.ImportPath] = p
	}
	s.imp = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		p, ok := s.list[path]
		if !ok || p.Export == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(p.Export)
	})
	return s, nil
}

// Package returns the type-checked API of one loaded package.
func (s *Set) Package(path string) (*types.Package, error) { return s.imp.Import(path) }

// Files returns the source files of one loaded package and their folder.
func (s *Set) Files(path string) (dir string, files []string) {
	p := s.list[path]
	return p.Dir, p.GoFiles
}

// Exported lists a package's exported objects sorted by name.
func Exported(pkg *types.Package) []types.Object {
	var objs []types.Object
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			objs = append(objs, obj)
		}
	}
	sort.Slice(objs, func(i, j int) bool { return objs[i].Name() < objs[j].Name() })
	return objs
}
