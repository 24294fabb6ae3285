//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu/metal"
)

// TestMain lets the self-check start this program for its parts.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--part") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestSelfCheckOnEmulator(t *testing.T) {
	out := runDoctor(t, "--metal", "--quick")
	for _, want := range []string{
		"on the emulator: this says nothing about a Mac", "OS build", "Emulated Metal device", "selectors", "limits", "commands",
		"kernels", "times", "suite", "functions", "all 50 messages", "tests passed", "min_max", "verdict: good",
	} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "WRONG")
	require.NotContains(t, out, "is kept in", "a quick check is no verdict")
	require.Equal(t, 2, strings.Count(out, "```"), "it can be pasted")
}

// TestSelfCheckReportsFaults has the device fail: each part says so, and so does the process.
func TestSelfCheckReportsFaults(t *testing.T) {
	t.Setenv("METALEMU_OPTIONS", "lost=1")
	var out, progress bytes.Buffer
	err := run(t.Context(), []string{"doctor", "--metal", "--quick", "--json"}, &out, &progress)
	require.ErrorIs(t, err, errBroken)
	var r selfReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.False(t, r.Verdict.OK)
	for _, part := range []string{"commands: dispatch", "suite: tests", "functions: sum"} {
		require.Contains(t, strings.Join(r.Verdict.Failed, "\n"), part)
	}
}

// TestSelfCheckSurvivesACrash has a part that dies and one that does not exist.
func TestSelfCheckSurvivesACrash(t *testing.T) {
	r := &selfReport{}
	t.Setenv("METALEMU_OPTIONS", "no_such_option=1")
	found := r.part(t.Context(), checkParts[0], true)
	require.False(t, found[len(found)-1].OK)
	require.Equal(t, "process", found[len(found)-1].Name)

	found = r.part(t.Context(), checkPart{name: "none", read: readFindings}, true)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Detail, `no part "none"`)
}

func TestReadSuite(t *testing.T) {
	found := readSuite(strings.NewReader("=== RUN   Suite\n=== RUN   Suite/Shapes\n--- PASS: Suite (1.00s)\n    --- PASS: Suite/Shapes (0.10s)\nPASS\n"))
	require.Equal(t, []metal.Finding{{Part: "suite", Name: "tests of package gputest", OK: true, Detail: "1 test passed"}}, found)
	found = readSuite(strings.NewReader("--- FAIL: Suite (1.00s)\n    --- FAIL: Suite/Shapes (0.10s)\n        it differs\nFAIL\n"))
	require.False(t, found[0].OK)
	require.Contains(t, found[0].Detail, "it differs")
	require.False(t, readSuite(strings.NewReader(""))[0].OK, "a suite that did not run did not pass")
}

func TestReadFindingsStopsWhereThePartDied(t *testing.T) {
	require.Equal(t, []metal.Finding{{Part: "limits", Name: "page", OK: true}},
		readFindings(strings.NewReader(`{"part":"limits","name":"page","ok":true}`+"\n"+`{"part":"lim`)))
}
