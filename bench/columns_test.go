package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/bench/roofline"
	"github.com/broadhead-go/broadhead/gpu"
)

// The command measures every operation on the emulator, whose answers are the CPU's, and says what such times are worth.
func TestColumns(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"columns", "--device", "emulator", "--rows", "1e3", "--each", "1us"}
	require.NoError(t, run(context.Background(), args, &out, &errs), errs.String())
	for _, want := range []string{
		"these times say nothing about a device", "## Copies", "| home from the device |", "## Columns on the device", "| take, half at random |",
		"## Columns on the host", "bandwidth\", point 3",
	} {
		require.Contains(t, out.String(), want)
	}
	out.Reset()
	require.NoError(t, run(context.Background(), append(args, "--json"), &out, &errs), errs.String())
	var r roofline.Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, 1000, r.Rows)
	require.Len(t, r.Copies, 4)
	require.Positive(t, r.CopyTBs)
	require.GreaterOrEqual(t, len(r.Resident), 12)
	require.Len(t, r.Host, len(r.Resident))
	for i, row := range r.Resident {
		require.Positive(t, row.WallMS, row.Operation)
		require.Positive(t, row.OddWallMS, row.Operation)
		require.Positive(t, row.TBs, row.Operation)
		require.Zero(t, row.TargetMS, "targets are for 100,000,000 rows")
		require.Positive(t, r.Host[i].OwnMS, row.Operation)
		require.Positive(t, r.Host[i].ForeignMS, row.Operation)
		require.Positive(t, r.Host[i].CPUMS, row.Operation)
	}
}

// card is the emulator as a device with memory of its own.
type card struct{ gpu.Device }

func (c *card) Info() gpu.Info {
	info := c.Device.Info()
	info.Unified = false
	return info
}

// On a card results stay there; the answers are compared all the same.
func TestColumnsOnCard(t *testing.T) {
	dev, err := gpu.Open("emulator")
	require.NoError(t, err)
	r, err := roofline.Run(context.Background(), &card{dev}, roofline.Options{Rows: 3000, Each: time.Microsecond})
	require.NoError(t, err)
	require.NotEmpty(t, r.Resident)
	for _, c := range r.Copies {
		require.Positive(t, c.TBs, c.Name)
		require.Positive(t, c.DeviceMS, c.Name)
	}
}

func TestColumnsRefuses(t *testing.T) {
	for _, args := range [][]string{{"--rows", "0"}, {"--rows", "many"}, {"--each", "0s"}, {"--device", "nothing"}} {
		require.Error(t, run(context.Background(), append([]string{"columns"}, args...), &bytes.Buffer{}, &bytes.Buffer{}), args)
	}
}
