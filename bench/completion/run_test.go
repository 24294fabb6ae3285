//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test program be the worker and startup processes that it starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "worker" || os.Args[1] == "startup") {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestRun does a whole run in small: every cell and every load of the probe, on the emulator or a GPU.
func TestRun(t *testing.T) {
	server, _, err := openDevice(time.Millisecond)
	require.NoError(t, err)
	defer server.close()
	folder := t.TempDir()
	raw, probe := rawFile{filepath.Join(folder, rawName)}, rawFile{filepath.Join(folder, probeName)}
	require.NoError(t, raw.add(header{Criteria: criteriaHash(), Device: "test"}))
	require.NoError(t, probe.add(header{}))
	h := &harness{server: server, rows: 32, lengths: lengths{warm: 10 * time.Millisecond, measure: 50 * time.Millisecond, guard: 5 * time.Millisecond}}
	var out bytes.Buffer
	windows := plan(1)
	require.NoError(t, h.run(&out, raw, windows))
	require.NoError(t, h.probe(&out, probe, time.Millisecond))

	_, have, err := raw.read()
	require.NoError(t, err)
	require.Len(t, have, len(windows))
	answers := 0
	for _, w := range have {
		if w.GPU != nil {
			answers += len(w.GPU.Submit)
			require.Zero(t, w.GPU.Mismatches, w.key())
			require.Zero(t, unordered(w.GPU), w.key())
		}
		require.Len(t, w.Second, w.Loads)
		for i := range w.Second {
			answers += len(w.Second[i].Submit)
			require.Zero(t, w.Second[i].Mismatches, w.key())
		}
	}
	require.Greater(t, answers, len(have))
	// what was measured is not measured again
	before, err := os.Stat(raw.path)
	require.NoError(t, err)
	require.NoError(t, h.run(&out, raw, windows))
	after, err := os.Stat(raw.path)
	require.NoError(t, err)
	require.Equal(t, before.Size(), after.Size())

	costs, err := startupCosts(32)
	require.NoError(t, err)
	require.Len(t, costs, len(placements))
	require.NoError(t, writeJSON(filepath.Join(folder, startupName), costs))

	// tables follow from the raw files, and a changed one is seen
	r, err := analyze(folder, false)
	require.NoError(t, err)
	require.Equal(t, "inconclusive", r.Verdict.Verdict, "so few requests prove nothing")
	_, err = analyze(folder, true)
	require.NoError(t, err)
	for _, name := range []string{resultsName, tablesName, plotName} {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(text, '\n'), 0o644))
		_, err = analyze(folder, true)
		require.ErrorContains(t, err, name)
		require.NoError(t, os.WriteFile(path, text, 0o644))
	}
	var traced int
	for _, c := range r.Probe {
		if c.Cell == tracedCell {
			traced++
			require.Positive(t, c.Waiter["waiter waiting"]+c.Waiter["waiter runnable"], c.Config)
		}
	}
	require.Equal(t, len(probeLoads(0)), traced)
}

func TestLeak(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, leak(&out, 2000, releasedCalls()))
	debug.FreeOSMemory() // what earlier tests left would hide the leak
	var kept [][]byte
	require.ErrorContains(t, leak(&out, 1000, func() error {
		b := make([]byte, 64<<10)
		for i := range b {
			b[i] = 1
		}
		kept = append(kept, b)
		return nil
	}), "memory grew")
	require.Len(t, kept, 1000)
}

// TestWorkerGone: a worker that dies fails its load instead of hanging it.
func TestWorkerGone(t *testing.T) {
	l, err := openWorker(8)
	require.NoError(t, err)
	r := l.(*remote)
	require.NoError(t, r.cmd.Process.Kill())
	_, _, _, err = l.do()
	if err == nil { // it answered once more before the signal reached it
		_, _, _, err = l.do()
	}
	require.ErrorContains(t, err, "the worker is gone")
	require.Error(t, l.close(), "killed")
}
