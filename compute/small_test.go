package compute_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/memory"
)

// A call of few rows is mostly what surrounds the kernel. What it allocates is the result: a scalar and its datum, or an
// array in one piece and the owner of its memory.
func TestSmallCallsAllocate(t *testing.T) {
	if raceEnabled {
		return // pools forget
	}
	mem := memory.New(nil)
	ctx := compute.WithAllocator(onCPU(), mem)
	calls := smallCalls()
	for name, most := range map[string]float64{"sum": 3, "sum_float64": 3, "min_max": 5, "compare": 2, "add": 2, "filter": 2} {
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			if err := calls[name](ctx); err != nil {
				t.Error(err)
			}
		}), most, name)
	}
}
