package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/bench/latency"
)

// The command makes every table and plot on the emulator, and says what such times are worth.
func TestLatency(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	require.NoError(t, run(context.Background(), []string{"latency", "--device", "emulator", "--calls", "3", "--rows", "100,1000", "--out", dir}, &out, &errs), errs.String())
	text := out.String()
	for _, want := range []string{
		"these times say nothing about a device", "## Stages of an empty kernel", "## Wait strategies", "| callback |", "## Raw driver", "## Amortisation", "raw graph", "| 20 |",
		"## Can the floor move?", "## Before and after", "## Whole calls", "| 1000 10 ops batched |", "## Power proxy", "SpinMicroseconds 0 |",
		"## Resident probe", "| volatile |", "## Resident worker", "Not available on this device",
	} {
		require.Contains(t, text, want)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "latency.json"))
	require.NoError(t, err)
	var r latency.Report
	require.NoError(t, json.Unmarshal(raw, &r))
	require.Equal(t, "emulator", r.Driver)
	require.GreaterOrEqual(t, len(r.Tables), 9)
	md, err := os.ReadFile(filepath.Join(dir, "latency.md"))
	require.NoError(t, err)
	require.Equal(t, text, string(md))
	for _, name := range []string{"operations.svg", "amortisation.svg"} {
		svg, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(svg), "<?xml") && strings.Contains(string(svg), "microseconds"), name)
	}
}

func TestLatencyRefuses(t *testing.T) {
	for _, args := range [][]string{{"--calls", "-1"}, {"--rows", "0"}, {"--device", "nothing"}} {
		require.Error(t, run(context.Background(), append([]string{"latency"}, args...), &bytes.Buffer{}, &bytes.Buffer{}), args)
	}
}
