//go:build amd64 || arm64

package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/examples/data"
	_ "github.com/broadhead-go/broadhead/gpu/metal/emulator"
)

func TestOnEmulator(t *testing.T) {
	t.Setenv("BROADHEAD_DEVICE", "emulator")
	require.NoError(t, compute.SetCrossover("", 0))
	defer compute.SetCrossover("", -1)
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), &out, data.Flights))
	devices := check(t, out.String())
	require.Contains(t, devices, "emulator")
	require.Contains(t, out.String(), "8 of 8 answers agree bit for bit")
	require.NotContains(t, out.String(), "fell back")
}
