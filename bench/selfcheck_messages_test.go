//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/memory"
)

// TestMessagesOfCalls counts the Objective-C messages of whole calls, from the recording to the end of the wait, since each
// costs time that no GPU gives back. The fewest of some calls count: a waiter sends more each time it looks in vain.
func TestMessagesOfCalls(t *testing.T) {
	dev, err := gpu.Open(emulatorName)
	require.NoError(t, err)
	mem := memory.New(dev)
	defer func() { require.NoError(t, mem.Close()) }()
	defer gpu.SetLowLatencyWait(gpu.LowLatencyWait())
	gpu.SetLowLatencyWait(false)
	for _, row := range []struct {
		function   string
		rows, most int
	}{{"add", 10_000, 12}, {"greater", 10_000, 12}, {"sum", 10_000, 17}, {"min_max", 10_000, 17}, {"filter", 10_000, 24},
		{"sum", 1000, 12}, {"min_max", 1000, 12}} {
		t.Run(fmt.Sprintf("%s of %d", row.function, row.rows), func(t *testing.T) {
			w := &workloads[slices.IndexFunc(workloads, func(w workload) bool { return w.function == row.function })]
			c, err := w.columns(mem, arrow.PrimitiveTypes.Int64, row.rows, 0)
			require.NoError(t, err)
			defer c.release()
			call, err := w.ours(mem, dev)
			require.NoError(t, err)
			for range 40 { // kernels, buffers and events are made
				require.NoError(t, once(t.Context(), call, c))
			}
			var counts []int
			for range 20 {
				before := emulator.Messages()
				require.NoError(t, once(t.Context(), call, c))
				counts = append(counts, int(emulator.Messages()-before))
			}
			require.LessOrEqual(t, slices.Min(counts), row.most, "%v", counts)
		})
	}
}
