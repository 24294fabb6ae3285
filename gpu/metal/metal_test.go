//go:build linux && (amd64 || arm64)

package metal_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
)

// emulated is a device of the emulator with its faults.
type emulated struct{ gpu.Device }

func (emulated) FailNextCommand()  { emulator.SetOption("fail_command", 1) }
func (emulated) FailNextAlloc()    { emulator.SetOption("fail_alloc", 1) }
func (emulated) FailNextPipeline() { emulator.SetOption("fail_pipeline", 1) }
func (emulated) Lose()             { emulator.SetOption("lost", 1) }
func (emulated) Restore()          { emulator.SetOption("lost", 0) }

func open(t *testing.T) gpu.Device {
	devices, err := emulator.Open()
	require.NoError(t, err)
	for _, d := range devices[1:] {
		require.NoError(t, d.Close())
	}
	return emulated{devices[0]}
}

// liveClasses are the classes whose objects the driver owns.
var liveClasses = []string{
	"EmuMTLBuffer", "EmuMTLCommandBuffer", "EmuMTLCommandQueue", "EmuMTLComputeCommandEncoder",
	"EmuMTLBlitCommandEncoder", "EmuMTLComputePipelineState", "EmuMTLFence", "EmuMTLFunction", "EmuMTLLibrary",
	"EmuMTLSharedEvent", "MTLCompileOptions", "NSString", "NSError",
}

// live counts the live objects by class.
func live() map[string]int {
	counts := make(map[string]int)
	for _, c := range liveClasses {
		counts[c] = emulator.Live(c)
	}
	return counts
}

func TestConformance(t *testing.T) {
	for _, machine := range []struct {
		name    string
		options map[string]int64
	}{
		{"in order", nil},
		{"reordered, late status", map[string]int64{"order": 7, "status_lag_us": 300, "delay_us": 50}},
	} {
		t.Run(machine.name, func(t *testing.T) {
			for name, value := range machine.options {
				emulator.SetOption(name, value)
				defer emulator.SetOption(name, 0)
			}
			require.NoError(t, open(t).Close())
			before := live()
			gputest.Run(t, open)
			require.Eventually(t, func() bool { return maps.Equal(before, live()) }, 10*time.Second, time.Millisecond,
				"objects leak: %v, then %v", before, live())
		})
	}
}
