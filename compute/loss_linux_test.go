//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/memory"
)

// envChild names the test that a process runs for another, for what ends a process or what it has of a device.
const envChild = "BROADHEAD_TEST_CHILD"

func isChild(t *testing.T) bool { return os.Getenv(envChild) == t.Name() }

// child runs the same test in a process of its own and returns its output and how long it took.
func child(t *testing.T, limit time.Duration, env ...string) (string, time.Duration) {
	t.Helper()
	return childOf(t, t.Name(), limit, env...)
}

func childOf(t *testing.T, name string, limit time.Duration, env ...string) (string, time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), envChild+"="+name), env...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		t.Fatalf("%v after %v:\n%s", err, took, out)
	}
	return string(out), took
}

// checkLoss has a device lost under the calls of many goroutines. They all get the right answers; what only the device
// had is gone, with an error that says so; nothing hangs and nothing is left behind.
func checkLoss(t *testing.T, ctx context.Context, reason string, lose func()) {
	mem := compute.GetAllocator(ctx).(*memory.Allocator)
	values, mask := counting(mem, 3000), testBools(3000)
	defer mask.Release()
	wants := checkJobs(t, ctx, values, mask)
	col, err := compute.ToDevice(ctx, values)
	require.NoError(t, err)
	b := compute.NewBatch(ctx)
	twice := b.Call("add_unchecked", nil, values, values)
	total := b.Call("sum", nil, twice)
	require.NoError(t, b.Run())

	stop := make(chan struct{})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := g; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				k := i % len(jobs)
				got, err := jobs[k].run(ctx, values, mask)
				if err == nil {
					err = equal.Datums(got, wants[k])
					got.Release()
				}
				if err != nil {
					t.Errorf("%s: %v", jobs[k].name, err)
					return
				}
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	functions := []string{"batch", "sum", "filter", "add", "less", "greater"}
	before := fallbacks(functions)
	lose()
	time.Sleep(50 * time.Millisecond)
	close(stop)
	all.Wait()

	require.Greater(t, fallbacks(functions), before, "no fallback was counted")
	for k, j := range jobs {
		checkJob(t, ctx, j, values, mask, wants[k])
	}
	why, err := compute.Explain(ctx, "sum", nil, borrowed(values)...)
	require.NoError(t, err)
	require.Equal(t, "cpu", why.Device)
	require.Contains(t, why.Reason, reason)
	// What is on the host stays; what only the device had is lost.
	d, err := total.Datum()
	require.NoError(t, err)
	d.Release()
	_, err = twice.Datum()
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	back, err := col.Array(ctx)
	require.NoError(t, err)
	require.NoError(t, equal.Arrays(back, values))
	back.Release()
	more := counting(mem, 100) // an allocator goes on without its device
	more.Release()
	_, err = compute.ToDevice(ctx, mask)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	col.Release()
	b.Release()
	values.Release()
	require.Eventually(t, func() bool { s := mem.Stats(); return s.Active == 0 && s.Parked == 0 }, 10*time.Second, time.Millisecond,
		"the allocator still holds %+v", mem.Stats())
	u, err := compute.DeviceUseOf(ctx)
	require.NoError(t, err)
	require.Zero(t, u.Bytes)
	require.Zero(t, u.Kernels)
}

func TestLossOnEmulator(t *testing.T) {
	dev, err := gpu.Open("emulator")
	require.NoError(t, err)
	faulty := gputest.Fault(dev)
	checkLoss(t, onDevice(t, &card{faulty}), "lost", func() { faulty.Lose(1) })
}

// TestLossOnCUDA reads an illegal address, in a process of its own, because that ends the context.
func TestLossOnCUDA(t *testing.T) {
	if !isChild(t) {
		if cudaDevice(t) != nil {
			child(t, 2*time.Minute)
		}
		return
	}
	dev := cudaDevice(t)
	wild, err := dev.Compile(gpu.Source{Name: "wild", Text: `kernel void wild(device uint* a [[buffer(0)]], constant ulong& off [[buffer(1)]],
    uint i [[thread_position_in_grid]]) { a[off + i] = 1u; }`})
	require.NoError(t, err)
	checkLoss(t, onDevice(t, dev), "ILLEGAL_ADDRESS", func() {
		b, err := dev.Alloc(4096, gpu.Private)
		require.NoError(t, err)
		c := dev.Commands()
		c.Dispatch(wild, 1, 32, []gpu.Arg{{Buf: b}, {Bytes: []byte{0, 0, 0, 0, 0, 0, 0, 16}}})
		e, err := c.Commit()
		require.NoError(t, err)
		require.ErrorIs(t, e.Wait(context.Background()), gpu.ErrDeviceLost)
		b.Release()
	})
}

// TestEndlessOnEmulator holds a kernel on a device of its own past the deadline.
func TestEndlessOnEmulator(t *testing.T) {
	dev := ownEmulator(t)
	hold := func() { emulator.SetOption("hold_us", 60e6) }
	resume := func() { emulator.SetOption("hold_us", 0) }
	emulator.SetOption("line_writeback", 1)
	defer emulator.SetOption("line_writeback", 0)
	defer resume()
	checkEndless(t, onDevice(t, dev), hold, resume)
	require.NoError(t, dev.Close())
}

func ownEmulator(t *testing.T) gpu.Device {
	t.Helper()
	devices, err := emulator.Open()
	require.NoError(t, err)
	for _, d := range devices[1:] {
		require.NoError(t, d.Close())
	}
	return devices[0]
}

// checkJobs runs all jobs, and returns their answers on the CPU for later.
func checkJobs(t *testing.T, ctx context.Context, values, mask arrow.Array) (wants []compute.Datum) {
	t.Helper()
	for _, j := range jobs {
		want, err := j.run(onCPU(), values, mask)
		require.NoError(t, err)
		t.Cleanup(want.Release)
		wants = append(wants, want)
		checkJob(t, ctx, j, values, mask, want)
	}
	return wants
}

// checkEndless has a device stop to answer, and come back when it is lost.
func checkEndless(t *testing.T, ctx context.Context, hold, resume func()) {
	defer gpu.SetCommandTimeout(gpu.CommandTimeout())
	mem := compute.GetAllocator(ctx).(*memory.Allocator)
	values, mask := counting(mem, 1000), testBools(1000)
	defer mask.Release()
	wants := checkJobs(t, ctx, values, mask)
	gpu.SetCommandTimeout(400 * time.Millisecond)
	hold()
	// A cancelled context ends the waiting, not the work.
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err := jobs[0].run(short, values, mask)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	before := fallbacks([]string{"sum"})
	start := time.Now()
	checkJob(t, ctx, jobs[0], values, mask, wants[0])
	require.Less(t, time.Since(start), 30*time.Second)
	require.Greater(t, fallbacks([]string{"sum"}), before)
	var last string
	for _, s := range compute.Stats() {
		if s.Function == "sum" && s.LastFallback != "" {
			last += s.LastFallback
		}
	}
	require.Contains(t, last, "no answer in 400ms")
	why, err := compute.Explain(ctx, "sum", nil, borrowed(values)...)
	require.NoError(t, err)
	require.Equal(t, "cpu", why.Device)
	require.Contains(t, why.Reason, "no answer in 400ms")
	for k, j := range jobs { // and does not wait again
		checkJob(t, ctx, j, values, mask, wants[k])
	}
	values.Release()
	require.Positive(t, mem.Stats().Parked, "the work still has its inputs")
	resume()
	require.Eventually(t, func() bool { s := mem.Stats(); return s.Active == 0 && s.Parked == 0 }, 20*time.Second, time.Millisecond,
		"the allocator still holds %+v", mem.Stats())
}

// TestExitOnEmulator ends a process while its device works.
func TestExitOnEmulator(t *testing.T) {
	if !isChild(t) {
		out, took := child(t, time.Minute)
		require.Contains(t, out, "in flight")
		require.Less(t, took, 40*time.Second)
		return
	}
	dev := ownEmulator(t)
	emulator.SetOption("line_writeback", 1)
	emulator.SetOption("hold_us", 60e6)
	exitInFlight(t, onDevice(t, dev))
}

// exitInFlight starts batches and leaves.
func exitInFlight(t *testing.T, ctx context.Context) {
	values := counting(compute.GetAllocator(ctx), 1000)
	for range 4 {
		b := compute.NewBatch(ctx)
		b.Call("sum", nil, b.Call("add_unchecked", nil, values, values))
		go b.Run()
	}
	time.Sleep(100 * time.Millisecond)
	fmt.Println("in flight")
	os.Exit(0)
}

// TestExitOnCUDA ends a process while a kernel runs that has no end.
func TestExitOnCUDA(t *testing.T) {
	if !isChild(t) {
		if cudaDevice(t) != nil {
			out, took := child(t, time.Minute)
			require.Contains(t, out, "in flight")
			t.Logf("ended after %v", took)
			d, _ := child(t, time.Minute, "BROADHEAD_TEST_AGAIN=1")
			require.True(t, strings.Contains(d, "in flight"), "the next process has a device that works")
		}
		return
	}
	dev := cudaDevice(t)
	ctx := onDevice(t, dev)
	values := counting(compute.GetAllocator(ctx), 1000)
	mask := testBools(1000)
	want, err := jobs[0].run(onCPU(), values, mask)
	require.NoError(t, err)
	checkJob(t, ctx, jobs[0], values, mask, want)
	endlessKernel(t, dev)
	exitInFlight(t, ctx)
}

// endlessKernel starts one and returns what ends it.
func endlessKernel(t *testing.T, dev gpu.Device) (end func()) {
	p, err := dev.Compile(gpu.Source{Name: "endless", Text: `#include <metal_stdlib>
using namespace metal;
kernel void endless(device atomic_uint* stop [[buffer(0)]]) {
    while (atomic_load_explicit(stop, memory_order_relaxed) == 0u) {} }`})
	require.NoError(t, err)
	stop, err := dev.Alloc(4096, gpu.Shared)
	require.NoError(t, err)
	clear(stop.Host())
	c := dev.Commands()
	c.Dispatch(p, 1, 1, []gpu.Arg{{Buf: stop}})
	_, err = c.Commit()
	require.NoError(t, err)
	return func() { stop.Host()[0] = 1 }
}

// TestEndlessOnCUDA has a kernel without an end occupy the card: what else runs there ends, and the device is lost.
func TestEndlessOnCUDA(t *testing.T) {
	if !isChild(t) {
		if cudaDevice(t) != nil {
			child(t, 2*time.Minute)
		}
		return
	}
	dev := cudaDevice(t)
	gpu.SetCommandTimeout(700 * time.Millisecond)
	ctx := onDevice(t, dev)
	mem := compute.GetAllocator(ctx).(*memory.Allocator)
	values, mask := counting(mem, 1000), testBools(1000)
	var wants []compute.Datum
	run := func(k int) {
		start := time.Now()
		checkJob(t, ctx, jobs[k], values, mask, wants[k])
		require.Less(t, time.Since(start), 20*time.Second)
	}
	for k, j := range jobs {
		want, err := j.run(onCPU(), values, mask)
		require.NoError(t, err)
		wants = append(wants, want)
		run(k)
	}
	end := endlessKernel(t, dev)
	for start := time.Now(); time.Since(start) < 2*time.Second; {
		for k := range jobs {
			run(k)
		}
	}
	why, err := compute.Explain(ctx, "sum", nil, borrowed(values)...)
	require.NoError(t, err)
	require.Equal(t, "cpu", why.Device)
	require.Contains(t, why.Reason, "no answer in 700ms")
	require.ErrorIs(t, dev.Close(), gpu.ErrTimeout)
	end()
	values.Release()
	require.Eventually(t, func() bool { s := mem.Stats(); return s.Active == 0 && s.Parked == 0 }, 20*time.Second, time.Millisecond)
}
