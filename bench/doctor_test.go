package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

func runDoctor(t *testing.T, args ...string) string {
	t.Helper()
	var out, progress bytes.Buffer
	err := run(t.Context(), append([]string{"doctor"}, args...), &out, &progress)
	require.NoError(t, err, "%s%s", &progress, &out)
	return out.String()
}

func TestDoctorHasEverySectionWithoutGPU(t *testing.T) {
	t.Setenv("BROADHEAD_DEVICE", "cpu")
	out := runDoctor(t)
	for _, want := range []string{
		"Broadhead\n", modulePath, runtime.Version(), "Machine\n", runtime.GOOS + "/" + runtime.GOARCH, "GOMAXPROCS",
		"Devices\n", "linked drivers:", "Chosen device\n", "BROADHEAD_DEVICE=cpu", "C++ compiler", "Allocator", "plain memory",
		"Crossovers in force", "every call runs on the CPU", "Environment\n", "BROADHEAD_CROSSOVER", "Checks", "sum",
		"kernel cache", "What is missing and how to get it",
	} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "BROKEN")
	for _, driver := range gpu.Drivers() {
		require.Contains(t, out, driver)
	}
}

func TestDoctorPrintsTheSameAsJSON(t *testing.T) {
	t.Setenv("BROADHEAD_DEVICE", "cpu")
	var r report
	require.NoError(t, json.Unmarshal([]byte(runDoctor(t, "--json")), &r))
	require.Equal(t, cpuName, r.Chosen.Device)
	require.Equal(t, runtime.NumCPU(), r.Machine.Cores)
	require.Len(t, r.Checks, len(crossoverNames()))
	require.Empty(t, r.Crossovers)
	require.Positive(t, r.Memory.BlockBytes)
}

func TestDoctorShowsFaultyVariables(t *testing.T) {
	t.Setenv("BROADHEAD_DEVICE", "abacus")
	t.Setenv("BROADHEAD_DEVISE", "metal")
	out := runDoctor(t)
	require.Contains(t, out, `driver "abacus" is not linked`)
	require.Contains(t, out, "a good value of BROADHEAD_DEVISE")
	require.Contains(t, out, "faulty:")
}

func TestDoctorWithoutCompiler(t *testing.T) {
	t.Setenv("BROADHEAD_DEVICE", "cpu")
	t.Setenv("CXX", "no-such-compiler")
	var r report
	require.NoError(t, json.Unmarshal([]byte(runDoctor(t, "--json")), &r))
	require.Contains(t, r.Compiler.Error, "no-such-compiler")
	if runtime.GOOS != "linux" {
		return
	}
	for _, a := range r.Missing {
		if strings.Contains(a.What, "C++ compiler") {
			require.Contains(t, a.How, "apt-get install g++")
			return
		}
	}
	t.Fatal("the compiler is not among what is missing")
}

func TestBrokenChecksAreAnError(t *testing.T) {
	r := report{Checks: []check{{Function: "sum", OK: true}}}
	require.False(t, r.broken())
	r.Checks = append(r.Checks, check{Function: "add", Device: "metal:0", Answer: "differs"})
	require.True(t, r.broken())
	require.Contains(t, advise(&r)[len(advise(&r))-1].What, "add on metal:0")
}

func TestPanicsAreReported(t *testing.T) {
	_, err := safely(func() (string, error) { panic("kernel") })
	require.ErrorContains(t, err, "kernel")
}
