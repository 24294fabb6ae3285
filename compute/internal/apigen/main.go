// Command apigen writes compute/arrowgo.gen.go: every exported identifier of
// arrow-go's compute package that package compute does not declare itself, as
// an alias, a constant, a variable or a forwarding function.
//
//	go generate ./compute                       write the file
//	go run ./compute/internal/apigen -check     fail if it is out of date
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/broadhead-go/broadhead/compute/internal/apigen/apiset"
)

const outName = "arrowgo.gen.go"

func main() {
	check := flag.Bool("check", false, "compare with the file on disk instead of writing it")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "apigen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	dir, err := computeDir()
	if err != nil {
		return err
	}
	set, err := apiset.Load(apiset.ArrowCompute)
	if err != nil {
		return err
	}
	pkg, err := set.Package(apiset.ArrowCompute)
	if err != nil {
		return err
	}
	docs, err := readDocs(set.Files(apiset.ArrowCompute))
	if err != nil {
		return err
	}
	own, err := declared(dir)
	if err != nil {
		return err
	}
	text, err := render(pkg, docs, own)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, outName)
	if !check {
		return os.WriteFile(path, text, 0o644)
	}
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// A checkout may have turned line ends into CRLF.
	if !bytes.Equal(bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")), text) {
		return fmt.Errorf("%s is out of date: run go generate ./compute", outName)
	}
	return nil
}

// computeDir is found through the module, so that the command works from any
// folder of it.
func computeDir() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "compute"), nil
}

// variables whose value is copied once, at start-up. That is right because
// arrow-go never assigns to them: function values, error values, and defaults
// that it reads only while it fills its registry. A variable that a new
// arrow-go release adds stops the generator until somebody has looked.
var copiedVars = map[string]bool{
	"WithAllocator": true, "GetAllocator": true,
	"ErrEmpty": true, "ErrNoChildren": true, "ErrIndexRange": true,
	"ErrMultipleMatches": true, "ErrNoMatch": true, "ErrInvalid": true,
	"EmptyFuncDoc": true, "DefaultRoundOptions": true,
	"DefaultRoundToMultipleOptions": true, "DefaultRoundTemporalOptions": true,
}

// split sorts the API into the four kinds of declaration, without what our own
// files declare.
func split(pkg *types.Package, own map[string]bool) (tys, consts, vars []types.Object, funcs []*types.Func, err error) {
	for _, obj := range apiset.Exported(pkg) {
		if own[obj.Name()] {
			continue
		}
		switch o := obj.(type) {
		case *types.TypeName:
			tys = append(tys, o)
		case *types.Const:
			consts = append(consts, o)
		case *types.Var:
			if !copiedVars[o.Name()] {
				err = fmt.Errorf("variable %s is new: find out whether arrow-go assigns to it, then add it to copiedVars", o.Name())
				return
			}
			vars = append(vars, o)
		case *types.Func:
			funcs = append(funcs, o)
		}
	}
	return
}
