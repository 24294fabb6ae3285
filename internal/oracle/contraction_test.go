package oracle

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A product and a sum round twice. For these numbers the answer is 0, and 2^-24 where one instruction does both.
const contraction = `#include <metal_stdlib>
extern "C" int printf(const char*, ...);
struct f32 { float v; };
static inline f32 operator*(f32 a, f32 b) { return f32{a.v * b.v}; }
static inline f32 operator+(f32 a, f32 b) { return f32{a.v + b.v}; }
int main() {
    volatile float x = 1.0f + 0x1p-12f, y = -(1.0f + 0x1p-11f);
    f32 a{x}, b{x}, c{y};
    printf("%a %a\n", (double)(a * b + c).v, (double)metal::fma(a.v, b.v, c.v));
}
`

// TestEmulatorDoesNotContract compiles with the flags that the emulator compiles kernels with, for processors that have
// the instruction. Without the flag that forbids it the answer is the other one.
func TestEmulatorDoesNotContract(t *testing.T) {
	flags := emulatorFlags(t)
	require.Contains(t, flags, "-ffp-contract=off")
	for _, machine := range []struct {
		arch, compiler, apt string
		flags               []string
		run                 []string // what runs a program of this machine here
	}{
		{"amd64", "g++", "g++", []string{"-mfma"}, nil},
		{"arm64", "aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", []string{"-static"}, []string{"qemu-aarch64"}},
	} {
		t.Run(machine.arch, func(t *testing.T) {
			compiler, run := machine.compiler, machine.run
			if runtime.GOARCH == machine.arch {
				compiler, run = "g++", nil
			} else if run == nil {
				run = []string{"qemu-x86_64"}
			}
			compiler = need(t, "apt-get install "+machine.apt, compiler)
			if run != nil {
				run = []string{need(t, "apt-get install qemu-user", run...)}
			}
			answer := func(flags []string) string {
				return runProgram(t, compiler, slices.Concat(flags, machine.flags), run)
			}
			require.Equal(t, "0x0p+0 0x1p-24\n", answer(flags))
			free := slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f == "-ffp-contract=off" })
			require.Equal(t, "0x1p-24 0x1p-24\n", answer(append(free, "-ffp-contract=fast")), "the test could not fail")
		})
	}
}

var flagText = regexp.MustCompile(`"(-[A-Za-z][^"]*)"`)

// emulatorFlags reads the emulator's source. Flags that bring a runtime of their own are left out.
func emulatorFlags(t *testing.T) []string {
	text, err := os.ReadFile("../../gpu/metal/emulator/src/msl_compile.cpp")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "f.compile.insert(")
	require.True(t, found)
	list, _, found := strings.Cut(rest, "});")
	require.True(t, found)
	var flags []string
	for _, m := range flagText.FindAllStringSubmatch(list, -1) {
		if !strings.HasPrefix(m[1], "-fsanitize") {
			flags = append(flags, m[1])
		}
	}
	return append(flags, "-O2") // an option of the emulator; g++ does not fuse below
}

func runProgram(t *testing.T, compiler string, flags, run []string) string {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "contraction.cpp"), filepath.Join(dir, "contraction")
	require.NoError(t, os.WriteFile(source, []byte(contraction), 0o600))
	args := slices.Concat(flags, []string{"-I", "../../gpu/metal/emulator/src/include", source, "-o", program})
	out, err := exec.Command(compiler, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	command := append(slices.Clone(run), program)
	out, err = exec.Command(command[0], command[1:]...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// fused are the instructions of arm64 that multiply and add floats with one rounding.
var fused = regexp.MustCompile(`\bFN?M(ADD|SUB)[SD]\b`)

// TestGoDoesNotContract looks for fused instructions in the code of every package that computes. Go may fuse x*y + z on
// arm64; an explicit conversion of the product, float64(x*y) + z, forbids it.
func TestGoDoesNotContract(t *testing.T) {
	out := assembly(t, "../..", "github.com/broadhead-go/broadhead/...", "./compute/...", "./memory/...", "./msl/...")
	require.Contains(t, out, "FADDD", "no code that computes was seen")
	where := ""
	for line := range strings.Lines(out) {
		if strings.Contains(line, " STEXT ") {
			where, _, _ = strings.Cut(line, " ")
		}
		if fused.MatchString(line) {
			t.Errorf("%s: %s", where, strings.TrimSpace(line))
		}
	}
}

// TestGoContracts shows that the search finds what it looks for, and what an explicit conversion does.
func TestGoContracts(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module sample\n\ngo 1.25\n"), 0o600))
	for expression, fuses := range map[string]bool{"x*y + z": true, "float64(x*y) + z": false} {
		text := fmt.Sprintf("package sample\n\nfunc F(x, y, z float64) float64 { return %s }\n", expression)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f.go"), []byte(text), 0o600))
		require.Equal(t, fuses, fused.MatchString(assembly(t, dir, "sample", ".")), expression)
	}
}

// assembly is what the compiler writes of packages for linux/arm64, whether or not they were compiled before.
func assembly(t *testing.T, dir, which string, packages ...string) string {
	cmd := exec.Command("go", append([]string{"build", "-gcflags=" + which + "=-S"}, packages...)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	require.NoError(t, err, "%s", bytes.Join(complaint.FindAll(out.Bytes(), 20), []byte("\n")))
	return out.String()
}

// complaint is an error of the compiler's, among the code that it writes.
var complaint = regexp.MustCompile(`(?m)^\S+\.(go|s):\d+.*$`)
