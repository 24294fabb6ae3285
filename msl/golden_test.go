package msl_test

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/broadhead-go/broadhead/msl"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenFiles gives the text of every kernel: a file for each name without flags, in which the variants follow each
// other, and what they have in common stands once. Each file compiles.
func goldenFiles(t *testing.T) map[string]string {
	t.Helper()
	helpers, kernels := map[string][]string{}, map[string][]string{}
	for _, k := range msl.Keys(mapKeys()...) {
		_, text, err := msl.Text(k)
		if err != nil {
			t.Fatal(err)
		}
		k.Flags = 0
		file, _, err := msl.Text(k)
		if err != nil {
			t.Fatal(err)
		}
		head, body, ok := strings.Cut(text, "using namespace metal;\n\n")
		if !ok {
			t.Fatalf("%s begins with %q", file, head)
		}
		chunks := msl.Chunks(body)
		last := len(chunks) - 1
		for _, c := range chunks[:last] {
			if !slices.Contains(helpers[file], c) {
				helpers[file] = append(helpers[file], c)
			}
		}
		kernels[file] = append(kernels[file], chunks[last])
	}
	files := map[string]string{}
	for name := range kernels {
		text := "#include <metal_stdlib>\nusing namespace metal;\n\n" + strings.Join(append(helpers[name], kernels[name]...), "\n")
		files[name+".metal"] = text
	}
	return files
}

func TestGolden(t *testing.T) {
	files := goldenFiles(t)
	old, err := filepath.Glob("testdata/*.metal")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join("testdata", name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	for _, path := range old {
		if _, ok := files[filepath.Base(path)]; !ok {
			t.Errorf("%s belongs to no kernel; go test ./msl -update removes it", path)
		}
	}
	for name, text := range files {
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Errorf("%v; go test ./msl -update writes it", err)
		} else if string(want) != text {
			t.Errorf("the text of %s has changed; go test ./msl -update rewrites it", name)
		}
	}
}

// TestGoldenFilesCompile compiles all kernels in two runs of g++ with the emulator's headers: those for Metal, and those for
// devices that have more. Attributes and threadgroup memory mean nothing to it; the emulator checks those.
func TestGoldenFilesCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles kernel text with g++, which -short leaves out")
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Fatal("needs g++: kernel text is checked by compiling it (use -short to leave this out)")
	}
	files := goldenFiles(t)
	texts := map[bool]*strings.Builder{false: new(strings.Builder), true: new(strings.Builder)}
	for _, b := range texts {
		b.WriteString("#include <metal_stdlib>\n")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b := texts[strings.HasSuffix(name, "_native.metal") || strings.HasSuffix(name, "_lookback.metal")]
		text := strings.TrimPrefix(files[name], "#include <metal_stdlib>\n")
		b.WriteString("namespace file_" + strings.TrimSuffix(name, ".metal") + " {\n#line 1 \"" + name + "\"\n")
		b.WriteString(text + "}\n")
		for line := range strings.Lines(text) {
			if macro, ok := strings.CutPrefix(line, "#define "); ok {
				b.WriteString("#undef " + strings.Fields(macro)[0] + "\n")
			}
		}
	}
	for wide, b := range texts {
		source := filepath.Join(t.TempDir(), "all.cpp")
		if err := os.WriteFile(source, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		args := []string{"-std=c++17", "-fsyntax-only", "-fsigned-char", "-Wall", "-Wextra", "-Wno-attributes", "-Wno-unknown-pragmas",
			"-Wno-unused-function", "-nostdinc++", "-isystem", "../gpu/metal/emulator/src/include", source}
		if wide {
			args = append(args, "-D__MTL_WIDE")
		}
		if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("g++, wide=%v: %v\n%.8000s", wide, err, out)
		}
	}
}
