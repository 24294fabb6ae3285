// Package oracle has compilers judge what this repository makes: kernel text must pass a front end that is neither Metal's
// nor the emulator's, and no compiler may fuse a multiplication with an addition.
//
// The tests run where the compilers are installed. BROADHEAD_TEST_ORACLE=1 makes a missing one an error.
package oracle

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// need finds the first of some programs. Without one the test does not run, or fails where all oracles must be there.
func need(t *testing.T, how string, programs ...string) string {
	t.Helper()
	for _, p := range programs {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	message := fmt.Sprintf("none of %s is installed: %s", strings.Join(programs, ", "), how)
	if os.Getenv("BROADHEAD_TEST_ORACLE") == "1" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// clang is the newest that is there, or the one that CLANG names. Older than 15 it lacks C++ for OpenCL 2021.
func clang(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("CLANG"); named != "" {
		return need(t, "CLANG names it", named)
	}
	return need(t, "apt-get install clang-19", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15")
}

// flags of the check. No extension is on but what structs need: clang copies them by references to the generic address
// space. complaints finds other uses of that, which Metal does not have.
var flags = []string{
	"-x", "clcpp", "-cl-std=clc++2021", "-cl-no-stdinc", "-nostdinc", "-I", "include", "-target", "spir64", "-fsyntax-only",
	"-Wno-unknown-attributes", "-Wno-c++17-extensions", "-Xclang", "-ast-print",
}

const (
	plainExtensions  = "-all,+__opencl_c_generic_address_space"
	doubleExtensions = plainExtensions + ",+cl_khr_fp64,+__opencl_c_fp64"
)

// generic finds pointers and references without an address space, which clang prints with its own.
var generic = regexp.MustCompile(`(?m)^.*\b__generic\b.*$`)

// complaints are what is wrong with a text, "" if nothing is.
func complaints(t *testing.T, compiler, text string, wide bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program.metal")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	extensions := plainExtensions
	defines := []string{}
	if wide {
		extensions, defines = doubleExtensions, []string{"-D__METAL_WIDE"}
	}
	cmd := exec.Command(compiler, append(slices.Concat(flags, []string{"-Xclang", "-cl-ext=" + extensions}, defines), path)...)
	var printed, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &errors
	err := cmd.Run()
	said := errors.String()
	if err != nil && said == "" {
		said = err.Error()
	}
	for _, line := range generic.FindAllString(printed.String(), -1) {
		said += "error: no address space: " + strings.TrimSpace(line) + "\n"
	}
	return said
}
