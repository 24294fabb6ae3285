// Package repocheck tests the rules that the repository as a whole keeps: who imports whom, what a program links,
// and the form of the sources.
package repocheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/broadhead-go/broadhead"
	root   = "../.."
)

// goTool runs the go command in the repository's root. Env comes on top of the process's.
func goTool(t *testing.T, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		require.NoError(t, err, "go %s: %s", strings.Join(args, " "), exit.Stderr)
	}
	require.NoError(t, err)
	return out
}

// listed is what go list says about a package.
type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// list describes the module's packages as they are built for a target.
func list(t *testing.T, target string) []listed {
	t.Helper()
	goos, goarch, _ := strings.Cut(target, "/")
	out := goTool(t, []string{"GOOS=" + goos, "GOARCH=" + goarch, "CGO_ENABLED=0"}, "list", "-json", "./...")
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := dec.Decode(&p)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// sources calls visit for every Go file of the repository, with its slash-separated path.
func sources(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch rel = filepath.ToSlash(rel); {
		case d.IsDir() && rel != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(rel, ".go"):
			visit(rel)
		}
		return nil
	})
	require.NoError(t, err)
}
