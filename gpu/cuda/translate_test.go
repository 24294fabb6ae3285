//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// withoutPrelude is a program's own part.
func withoutPrelude(t *testing.T, p program) string {
	t.Helper()
	_, rest, ok := strings.Cut(p.text, "\nnamespace metal_program {\n")
	require.True(t, ok)
	return "namespace metal_program {\n" + rest
}

func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/forms.metal")
	require.NoError(t, err)
	var got strings.Builder
	for _, byAddress := range []bool{false, true} {
		p, err := translate(gpu.Source{Name: "forms", Text: string(text)}, byAddress)
		require.NoError(t, err)
		fmt.Fprintf(&got, "// by address: %v, parameters: %v\n%s", byAddress, p.params, withoutPrelude(t, p))
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/forms.cu", []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/forms.cu")
	require.NoError(t, err)
	require.Equal(t, string(want), got.String(), "go test ./gpu/cuda -update rewrites it")
}

// TestLinesStay sees that a kernel's text keeps its lines, and its columns up to a __shared__, which is shorter.
func TestLinesStay(t *testing.T) {
	text := "/* [[a]] */ [[b]]\n#include <metal_stdlib>\n#include \"own.h\"\n// threadgroup\nx [[c]] threadgroup uint* y;\n\"[[d]]\" '\\''\n"
	got := blank(text, lex(text))
	require.Equal(t, "/* [[a]] */      \n                       \n#include \"own.h\"\n// threadgroup\nx                   uint* y;\n\"[[d]]\" '\\''\n", got)
	text = "threadgroup vec<uint, 2> a[3]; threadgroup const vec<uint, 2>& b; threadgroup metal::atomic_uint* c; threadgroup"
	require.Equal(t, "__shared__ vec<uint, 2> a[3];             const vec<uint, 2>& b;             metal::atomic_uint* c; __shared__",
		blank(text, lex(text)))
}

func TestLex(t *testing.T) {
	for text, want := range map[string][]string{
		"":                         nil,
		"a+b1 // c\n d":            {"a", "+", "b1", "d"},
		"#define X \\\n y\nz":      {"z"},
		"a # b":                    {"a", "#", "b"},
		"/* open":                  nil,
		"\"open":                   nil,
		"[[open":                   {"[[open"},
		"#":                        nil,
		"'\\\\' x \"a\\\"b\" y":    {"x", "y"},
		"x[[buffer( 3 )]]":         {"x", "[[buffer( 3 )]]"},
		"\xc3\xa4":                 {"\xc3", "\xa4"},
		"#if 1\nkernel\n#endif":    {"kernel"},
		"a\r\n\tb":                 {"a", "b"},
		"f(a,b)":                   {"f", "(", "a", ",", "b", ")"},
		"// only\n// comments":     nil,
		"/* a */ b /* c \n */ d/e": {"b", "d", "/", "e"},
	} {
		var got []string
		for _, tok := range lex(text) {
			require.Equal(t, tok.text, text[tok.at:tok.end()])
			got = append(got, tok.text)
		}
		require.Equal(t, want, got, "%q", text)
	}
}

func TestTextsThatCannotBeTranslated(t *testing.T) {
	for _, row := range []struct {
		name, text string
		line       int
		log        string
	}{
		{"k", "", 0, "no kernel of this name"},
		{"", "kernel void k() {}", 0, "no kernel of this name"},
		{"k", "kernel void other() {}", 0, "no kernel of this name"},
		{"k", "// kernel void k(\n", 0, "no kernel of this name"},
		{"k", "\nkernel void k(device int* a [[buffer(0)]]", 2, "do not end"},
		{"k", "kernel void k(\n  device int* a)\n{}", 2, "needs a type, a name and an attribute"},
		{"k", "kernel void k(a [[buffer(0)]]) {}", 1, "needs a type, a name and an attribute"},
		{"k", "kernel void k(device int* a [[buffer(0)]],\n  threadgroup int* b [[threadgroup(0)]]) {}", 2, "[[threadgroup(0)]]"},
		{"k", "kernel void k(device int* a [[buffer(31)]]) {}", 1, "[[buffer(31)]]"},
		{"k", "kernel void k(device int* a [[buffer(-1)]]) {}", 1, "[[buffer(-1)]]"},
		{"k", "kernel void k(device int* a [[buffer(x)]]) {}", 1, "[[buffer(x)]]"},
	} {
		_, err := translate(gpu.Source{Name: row.name, Text: row.text}, false)
		var e *gpu.CompileError
		require.True(t, errors.As(err, &e), row.text)
		require.Equal(t, row.name, e.Kernel)
		require.Equal(t, row.line, e.Line, row.text)
		require.Contains(t, e.Log, row.log)
	}
	p, err := translate(gpu.Source{Name: "k", Text: "kernel void k() {}"}, false)
	require.NoError(t, err)
	require.Empty(t, p.params)
}

func TestCompileErrorLine(t *testing.T) {
	text := "one\ntwo\nthree\nfour"
	for _, row := range []struct {
		log    string
		line   int
		source string
	}{
		{"program_source(2): error: identifier \"x\" is undefined", 2, "two"},
		{"program_source(1): warning #177-D: odd\nprogram_source(3): error: bad\nprogram_source(4): error: worse", 3, "three"},
		{"metal_prelude(7): error: bad\n  detected during program_source(4)", 0, ""},
		{"program_source(3): catastrophic error: no", 3, "three"},
		{"program_source(4): note", 4, "four"},
		{"program_source(9): error: past the end", 9, ""},
		{"the compiler died", 0, ""},
		{"program_source(99999999999999999999): error: x", 0, ""},
	} {
		e := compileError(gpu.Source{Name: "k", Text: text}, row.log)
		require.Equal(t, &gpu.CompileError{Kernel: "k", Log: row.log, Line: row.line, Source: row.source}, e)
	}
}

var kernelName = regexp.MustCompile(`kernel void (\w+)\(`)

// TestEveryKernelCompilesAsCUDA compiles the CUDA text of every kernel of package msl, entries included, for NVIDIA
// GPUs with clang, where that is installed. NVRTC, which compiles them in use, needs no GPU but is rarely there.
func TestEveryKernelCompilesAsCUDA(t *testing.T) {
	clang := findClang()
	if clang == "" {
		t.Log("no clang 16 or later: nothing is compiled")
		return
	}
	files, err := filepath.Glob("../../msl/testdata/*.metal")
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	files = append(files, "testdata/forms.metal")
	texts := map[string]string{"copy_bytes": copyKernel.Text}
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		texts[strings.TrimSuffix(filepath.Base(path), ".metal")] = string(text)
	}
	shim, err := os.ReadFile("testdata/clang.h")
	require.NoError(t, err)
	all := string(shim) + prelude
	kernels := 0
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		part, n := allKernels(t, name, texts[name])
		all, kernels = all+part, kernels+n
	}
	source := filepath.Join(t.TempDir(), "all.cu")
	require.NoError(t, os.WriteFile(source, []byte(all), 0o644))
	out, err := exec.Command(clang, "-x", "cuda", "--cuda-gpu-arch=sm_90", "--cuda-device-only", "-nocudainc", "-nocudalib",
		"-std=c++17", "-fms-extensions", "-ffp-contract=off", "-Wno-unknown-cuda-version", "-fsyntax-only", source).CombinedOutput()
	require.NoError(t, err, "%.8000s", out)
	require.Empty(t, string(out))
	t.Logf("%d kernels in %d files", kernels, len(texts))
}

// allKernels is a file's text with the entries of all its kernels, in a namespace of its own.
func allKernels(t *testing.T, name, text string) (string, int) {
	t.Helper()
	const entries = "#line 1 \"metal_entry\"\n"
	found := kernelName.FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, found, name)
	b := "namespace file_" + name + " {\n"
	for i, m := range found {
		p, err := translate(gpu.Source{Name: m[1], Text: text}, i%2 == 1)
		require.NoError(t, err, m[1])
		body, entry, ok := strings.Cut(strings.TrimSuffix(withoutPrelude(t, p), "}\n"), entries)
		require.True(t, ok)
		if i == 0 {
			b += strings.Replace(body, textName, name, 1)
		}
		b += entry
	}
	b += "}\n}\n"
	for line := range strings.Lines(text) {
		if macro, ok := strings.CutPrefix(line, "#define "); ok {
			b += "#undef " + strings.Fields(macro)[0] + "\n"
		}
	}
	return b, len(found)
}

func findClang() string {
	for _, name := range []string{"clang-19", "clang-20", "clang-21", "clang-18", "clang-17", "clang-16", "clang"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if exec.Command(path, "-x", "cuda", "--cuda-gpu-arch=sm_90", "--cuda-device-only", "-nocudainc", "-nocudalib",
			"-fsyntax-only", "/dev/null").Run() == nil {
			return path
		}
	}
	return ""
}
