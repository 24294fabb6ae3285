package repocheck

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const onlyCompute = `package main

import (
	"context"
	"fmt"

	"github.com/broadhead-go/broadhead/compute"
)

func main() {
	fmt.Println(compute.Sum(context.Background(), nil, compute.NewDatum(int64(1))))
}
`

// TestStaticProgram holds compute to its promise that a program on Linux which imports nothing else of ours needs no C
// library, nor even a dynamic linker.
func TestStaticProgram(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(source, []byte(onlyCompute), 0o600))
	for _, arch := range []string{"amd64", "arm64"} {
		goTool(t, []string{"GOOS=linux", "GOARCH=" + arch, "CGO_ENABLED=0"}, "build", "-o", program, source)
		require.Empty(t, dynamic(t, program), arch)
	}
}

// TestDynamicIsSeen shows that the check can fail, on a program that loads a driver.
func TestDynamicIsSeen(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	goTool(t, []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0"}, "build", "-o", program, "-tags", "emulator", "./examples/demo")
	require.NotEmpty(t, dynamic(t, program))
}

// dynamic lists what a program asks of a dynamic linker.
func dynamic(t *testing.T, program string) (needs []string) {
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			needs = append(needs, "a dynamic linker")
		}
	}
	libraries, err := f.ImportedLibraries()
	if err == nil {
		needs = append(needs, libraries...)
	}
	return needs
}
