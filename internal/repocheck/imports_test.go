package repocheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayImport is the import rule: the top folders whose packages those of a top folder may import besides their own.
// Drivers register themselves from below gpu, so the folder is the unit, except for the drivers that compute links.
var mayImport = map[string][]string{
	"msl":      {},
	"gpu":      {"msl"},
	"memory":   {"gpu"},
	"compute":  {"memory", "gpu", "msl"},
	"resident": {"gpu", "msl", "memory"},
	"examples": {"compute", "memory", "gpu", "msl"},
	"bench":    {"compute", "memory", "gpu", "msl", "resident"},
	"internal": {},
}

// mayTestWith is what tests may import on top: a device to run kernels on, and the functions that kernels are made for.
var mayTestWith = map[string][]string{
	"msl":    {"gpu", "compute"},
	"memory": {"gpu", "msl"},
	"gpu":    {"memory", "compute", "resident"}, // the emulator runs computetest under its strictest rules; kernels stay on CUDA
}

var targets = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "darwin/amd64", "windows/amd64"}

// top is the top folder of one of the module's packages, "" of another's.
func top(path string) string {
	rest, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return ""
	}
	folder, _, _ := strings.Cut(rest, "/")
	return folder
}

func TestImportRule(t *testing.T) {
	for _, target := range targets {
		for _, p := range list(t, target) {
			from := top(p.ImportPath)
			allowed, known := mayImport[from]
			require.True(t, known, "%s: the import rule does not know this folder", p.ImportPath)
			for _, bad := range broken(from, p.Imports, allowed) {
				t.Errorf("%s: %s must not import %s", target, p.ImportPath, bad)
			}
			inTests := slices.Concat(allowed, mayTestWith[from])
			for _, bad := range broken(from, slices.Concat(p.TestImports, p.XTestImports), inTests) {
				t.Errorf("%s: the tests of %s must not import %s", target, p.ImportPath, bad)
			}
		}
	}
}

// broken lists the imports of a package in folder from that the rule forbids.
func broken(from string, imports, allowed []string) (bad []string) {
	for _, path := range imports {
		if to := top(path); to != "" && to != from && !slices.Contains(allowed, to) {
			bad = append(bad, path)
		}
	}
	return bad
}

func TestImportRuleCanFail(t *testing.T) {
	imports := []string{"fmt", module + "/gpu", module + "/msl/library", module + "/compute", module + "/examples/data"}
	require.Equal(t, []string{module + "/compute", module + "/examples/data"}, broken("memory", imports, []string{"gpu", "msl"}))
}

// purego is for the drivers, which talk to a GPU's own interface, and for the harness that measures native calls. compute
// links one driver, on macOS alone.
func TestDriversAlone(t *testing.T) {
	for _, target := range targets {
		for _, p := range list(t, target) {
			from := top(p.ImportPath)
			for _, path := range p.Imports {
				purego := strings.HasPrefix(path, "github.com/ebitengine/purego")
				driver := strings.HasPrefix(path, module+"/gpu/metal") || strings.HasPrefix(path, module+"/gpu/cuda")
				linked := driver && path == module+"/gpu/metal" && strings.HasPrefix(target, "darwin/")
				switch {
				case purego && from != "gpu" && p.ImportPath != module+"/bench/completion":
					t.Errorf("%s: %s imports %s", target, p.ImportPath, path)
				case p.ImportPath == module+"/gpu" && (purego || driver):
					t.Errorf("%s: the contract imports a driver: %s", target, path)
				case from == "compute" && driver && !linked && p.ImportPath == module+"/compute":
					t.Errorf("%s: compute imports %s", target, path)
				}
			}
		}
	}
}
