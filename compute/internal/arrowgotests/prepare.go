package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	arrowModule = "github.com/apache/arrow-go/v18"
	theirImport = `"` + arrowModule + `/arrow/compute"`
	ourImport   = `"github.com/broadhead-go/broadhead/compute"`

	// testFolder holds the tests in the copy: below arrow/compute, so that
	// arrow/compute/internal may be imported.
	testFolder = "arrow/compute/broadhead_test"
)

// moduleDirs finds arrow-go in the version that this module requires, fetching
// it if needed, and this module.
func moduleDirs(ctx context.Context) (arrowDir, ourDir string, err error) {
	if _, err = goCommand(ctx, "mod", "download", arrowModule); err != nil {
		return "", "", err
	}
	out, err := goCommand(ctx, "list", "-m", "-json", arrowModule)
	if err != nil {
		return "", "", err
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", "", err
	}
	if out, err = goCommand(ctx, "list", "-m", "-f", "{{.Dir}}"); err != nil {
		return "", "", err
	}
	ourDir = strings.TrimSpace(string(out))
	if m.Dir == "" || ourDir == "" {
		return "", "", fmt.Errorf("module folders not found: arrow-go %q, this module %q", m.Dir, ourDir)
	}
	return m.Dir, ourDir, nil
}

func goCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}

// prepare fills temp with the copy, the tests and a go.work file.
func prepare(ctx context.Context, temp, arrowDir, ourDir string, original bool) error {
	// A module's go version is never below that of one it requires, so ours
	// serves for both.
	version, err := goCommand(ctx, "list", "-m", "-f", "{{.GoVersion}}")
	if err != nil {
		return err
	}
	work := fmt.Sprintf("go %s\n\nuse (\n\t./arrow-go\n\t%q\n)\n", bytes.TrimSpace(version), ourDir)
	if err := os.WriteFile(filepath.Join(temp, "go.work"), []byte(work), 0o644); err != nil {
		return err
	}
	dst := filepath.Join(temp, "arrow-go")
	if err := copyModule(dst, arrowDir); err != nil {
		return err
	}
	folder := filepath.Join(dst, filepath.FromSlash(testFolder))
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(arrowDir, "arrow", "compute", "*_test.go"))
	if err != nil {
		return err
	}
	for _, source := range sources {
		if err := copyTest(folder, source, original); err != nil {
			return err
		}
	}
	return nil
}

// copyModule copies a module's files except its tests. The module cache is
// read-only; the copy is not.
func copyModule(dst, src string) error {
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case strings.HasSuffix(path, "_test.go") || !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
}

// copyTest copies a file of package compute_test with the import path changed.
// Files of package compute itself test arrow-go's inside.
func copyTest(folder, source string, original bool) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), source, text, parser.PackageClauseOnly)
	if err != nil {
		return err
	}
	if f.Name.Name != "compute_test" {
		return nil
	}
	if !original {
		text = bytes.ReplaceAll(text, []byte(theirImport), []byte(ourImport))
	}
	return os.WriteFile(filepath.Join(folder, filepath.Base(source)), text, 0o644)
}
