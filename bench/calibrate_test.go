package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
)

func TestCalibrateRefuses(t *testing.T) {
	var out bytes.Buffer
	require.Error(t, run(t.Context(), []string{"calibrate", "--device", "no such device"}, &out, &out))
	require.Error(t, run(t.Context(), []string{"calibrate", "rows"}, &out, &out))
	t.Setenv("BROADHEAD_DEVICE", "cpu")
	require.ErrorContains(t, run(t.Context(), []string{"calibrate"}, &out, &out), "no device")
}

func TestPrintCalibration(t *testing.T) {
	var out bytes.Buffer
	list := []compute.Crossover{
		{Function: "sum", Width: 8, Place: compute.DeviceMemory, Rows: 1000},
		{Function: "sum", Width: 8, Place: compute.HostMemory, Rows: 2000000},
		{Function: "sum", Width: 8, Place: compute.ForeignMemory, Rows: compute.Never},
	}
	require.NoError(t, printCalibration(&out, "a card", list))
	require.Contains(t, out.String(), "a card")
	require.Regexp(t, `sum\s+8\s+1000\s+2000000\s+never`, out.String())
}
