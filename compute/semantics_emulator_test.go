//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/computetest"
	"github.com/broadhead-go/broadhead/gpu"
	_ "github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/memory"
)

// emulated is a context whose calls run on the emulator whatever their size, over memory of its own.
func emulated(t testing.TB) (context.Context, gpu.Device) {
	t.Helper()
	dev, err := gpu.Open("emulator")
	if err != nil {
		t.Fatalf("no emulator: %v", err)
	}
	return onDevice(t, dev), dev
}

// onDevice is a context whose calls run on dev whatever their size, over memory of its own.
func onDevice(t testing.TB, dev gpu.Device) context.Context {
	t.Helper()
	always(t)
	mem := memory.New(dev)
	t.Cleanup(func() { _ = mem.Close() })
	return compute.WithAllocator(compute.WithDevice(context.Background(), dev), mem)
}

// always sets every crossover to 0 until the test ends.
func always(t testing.TB) {
	t.Helper()
	if err := compute.SetCrossover("", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = compute.SetCrossover("", -1) })
}

func TestEmulator(t *testing.T) {
	ctx, _ := emulated(t)
	computetest.RunAll(t, ctx)
}

// Memory of another allocator is wrapped or copied; the answers are the same.
func TestEmulatorForeignMemory(t *testing.T) {
	_, dev := emulated(t)
	computetest.RunSome(t, compute.WithDevice(context.Background(), dev))
}

func TestEmulatorFewThreads(t *testing.T) {
	ctx, _ := emulated(t)
	for _, procs := range []int{1, 4} {
		t.Run(fmt.Sprint("GOMAXPROCS=", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			computetest.RunSome(t, ctx)
		})
	}
}

func TestNoLeaksOnEmulator(t *testing.T) {
	ctx, dev := emulated(t)
	t.Run("device memory", func(t *testing.T) {
		mem := memory.New(dev)
		noLeaks(t, ctx, mem)
		if s := mem.Stats(); s.Active != 0 || s.Parked != 0 || s.BadFrees != 0 {
			t.Errorf("left behind: %+v", s)
		}
		if err := mem.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("foreign memory", func(t *testing.T) { noLeaks(t, ctx, arrowmem.NewGoAllocator()) })
}

func TestBatchOnEmulator(t *testing.T) {
	ctx, _ := emulated(t)
	before := batchRuns()
	runBatchTests(t, ctx)
	if batchRuns() == before {
		t.Error("no batch ran on the device")
	}
}

// batchRuns counts the sums that ran on the emulator.
func batchRuns() (n int64) {
	for _, s := range compute.Stats() {
		if s.Function == "sum" && s.Device == "emulator" {
			n += s.Runs
		}
	}
	return n
}
