//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
	"github.com/broadhead-go/broadhead/memory"
)

// pipelines are jobs of several steps.
var pipelines = []job{
	{"pipeline", nil, func(ctx context.Context, v, m arrow.Array) (compute.Datum, error) {
		b := compute.NewBatch(ctx)
		defer b.Release()
		some := b.Call("filter", nil, v, b.Call("and_kleene", nil, m, b.Call("greater", nil, v, int64(20))))
		squares := b.Call("multiply", nil, some, some)
		b.Call("min_max", nil, squares)
		late := b.Call("less", nil, squares, int64(90_000))
		if err := b.Run(); err != nil {
			return nil, err
		}
		return late.Datum()
	}},
	{"kept", nil, func(ctx context.Context, v, m arrow.Array) (compute.Datum, error) {
		if col, err := compute.ToDevice(ctx, v); err != nil { // the calls read the host's memory
			notUploaded.Add(1)
		} else {
			defer col.Release()
		}
		b := compute.NewBatch(ctx)
		defer b.Release()
		kept := b.Keep(b.Call("filter", nil, v, m))
		defer kept.Release()
		if err := b.Run(); err != nil {
			return nil, err
		}
		c := compute.NewBatch(ctx)
		defer c.Release()
		sum := c.Call("sum", nil, c.Call("add", nil, kept, int64(1)))
		if err := c.Run(); err != nil {
			return nil, err
		}
		return sum.Datum()
	}},
}

// notUploaded counts the columns that ToDevice could not bring to a device.
var notUploaded atomic.Int64

// TestNthFault has the n-th allocation (alone, or with all that follow), submission and command fail while every job runs,
// on devices that share the host's memory and on cards. No answer changes, nothing is left behind, and each fault that a
// call could not get over is counted.
func TestNthFault(t *testing.T) {
	numbers := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	if testing.Short() {
		numbers = []int{1, 2, 3, 9, 20}
	}
	most := int64(len(numbers))
	jobs := append(append([]job{}, jobs...), pipelines...)
	for _, machine := range []struct {
		name string
		make func(gpu.Device) gpu.Device
	}{
		{"unified", func(d gpu.Device) gpu.Device { return d }},
		{"card", func(d gpu.Device) gpu.Device { return &card{d} }},
	} {
		for _, kind := range []struct {
			name   string
			least  int64 // fallbacks
			inject func(d *gputest.FaultDevice, n int)
		}{
			{"allocation", 0, (*gputest.FaultDevice).FailAlloc}, // is tried again when a cache was emptied
			{"full", 1, (*gputest.FaultDevice).FailAllocsFrom},
			{"submission", most, (*gputest.FaultDevice).FailCommit},
			{"command", most, (*gputest.FaultDevice).FailCommand},
		} {
			t.Run(machine.name+"/"+kind.name, func(t *testing.T) {
				dev, err := gpu.Open("emulator")
				require.NoError(t, err)
				faulty := gputest.Fault(dev)
				ctx := onDevice(t, machine.make(faulty))
				mem := compute.GetAllocator(ctx).(*memory.Allocator)
				values, mask := counting(mem, 1000), testBools(1000)
				defer mask.Release()
				var wants []compute.Datum
				session := func() {
					for k, j := range jobs {
						mem.Trim()
						require.NoError(t, compute.TrimDevice(ctx))
						checkJob(t, ctx, j, values, mask, wants[k])
					}
				}
				for _, j := range jobs {
					want, err := j.run(onCPU(), values, mask)
					require.NoError(t, err)
					defer want.Release()
					wants = append(wants, want)
				}
				session()
				before := allFallbacks() + notUploaded.Load()
				for _, n := range numbers {
					injected := faulty.Counts().Injected
					kind.inject(faulty, n)
					for range 10 {
						if session(); faulty.Counts().Injected > injected {
							break
						}
					}
					require.Greater(t, faulty.Counts().Injected, injected, "the fault of number %d took no effect", n)
					kind.inject(faulty, 0)
				}
				fallen := allFallbacks() + notUploaded.Load() - before
				t.Logf("%d faults, %d fallbacks", most, fallen)
				require.GreaterOrEqual(t, fallen, kind.least)
				session()
				why, err := compute.Explain(ctx, "sum", nil, borrowed(values)...)
				require.NoError(t, err)
				require.Equal(t, "emulator", why.Device, "the device goes on")
				values.Release()
				require.Zero(t, mem.Stats().Active)
				require.Zero(t, mem.Stats().Parked)
				u := useOf(t, ctx)
				require.Zero(t, u.Kernels)
				require.Zero(t, u.Bytes)
			})
		}
	}
}

// Explain says how often a device left a function to the CPU although it goes on.
func TestExplainCountsFallbacks(t *testing.T) {
	dev, err := gpu.Open("emulator")
	require.NoError(t, err)
	faulty := gputest.Fault(dev)
	ctx := onDevice(t, faulty)
	values := counting(compute.GetAllocator(ctx), 1000)
	defer values.Release()
	require.NoError(t, runJob(ctx, jobs[0], values, nil))
	faulty.FailCommand(1)
	require.NoError(t, runJob(ctx, jobs[0], values, nil))
	why, err := compute.Explain(ctx, "sum", nil, borrowed(values)...)
	require.NoError(t, err)
	require.Equal(t, "emulator", why.Device)
	require.Regexp(t, `; [1-9]\d* calls? of sum before fell back to the CPU, the last since gpu: command failed`, why.Reason)
}

func allFallbacks() (n int64) {
	for _, s := range compute.Stats() {
		if !strings.HasPrefix(s.Device, "cpu") {
			n += s.Fallbacks
		}
	}
	return n
}
