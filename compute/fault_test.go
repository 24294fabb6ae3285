//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
	"github.com/broadhead-go/broadhead/memory"
)

// job is work that must have the same answer whatever the device does.
type job struct {
	name string
	// counted are the functions of which one counts the fallback
	counted []string
	run     func(ctx context.Context, values, mask arrow.Array) (compute.Datum, error)
}

func eager(name string, args func(values, mask arrow.Array) []compute.Datum) job {
	return job{name, []string{name}, func(ctx context.Context, values, mask arrow.Array) (compute.Datum, error) {
		return compute.CallFunction(ctx, name, nil, args(values, mask)...)
	}}
}

var jobs = []job{
	eager("sum", func(v, _ arrow.Array) []compute.Datum { return borrowed(v) }),
	eager("filter", func(v, m arrow.Array) []compute.Datum { return borrowed(v, m) }),
	eager("add", func(v, _ arrow.Array) []compute.Datum { return borrowed(v, v) }),
	eager("less", func(v, _ arrow.Array) []compute.Datum { return append(borrowed(v), compute.NewDatum(int64(500))) }),
	{"batch", []string{"batch", "greater", "filter", "sum"}, func(ctx context.Context, v, _ arrow.Array) (compute.Datum, error) {
		b := compute.NewBatch(ctx)
		defer b.Release()
		total := b.Call("sum", nil, b.Call("filter", nil, v, b.Call("greater", nil, v, int64(60))))
		if err := b.Run(); err != nil {
			return nil, err
		}
		return total.Datum()
	}},
}

// fault is something that goes wrong on a device.
type fault struct {
	name   string
	inject func(d *gputest.FaultDevice)
	// lasts says that Explain shows it after the call; reason is part of what it shows
	lasts  bool
	reason string
}

func everyKernel(string) bool { return true }

func faults() []fault {
	list := []fault{
		{"compile", func(d *gputest.FaultDevice) { d.FailKernels(everyKernel) }, true, "does not compile"},
		{"corrupted", func(d *gputest.FaultDevice) { d.CorruptKernels(everyKernel) }, true, "device and CPU differ"},
		{"refused", func(d *gputest.FaultDevice) { d.FailCommit(1) }, false, "out of memory"},
		{"command", func(d *gputest.FaultDevice) { d.FailCommand(1) }, false, "command failed"},
		{"lost", func(d *gputest.FaultDevice) { d.Lose(1) }, true, "lost"},
	}
	for n := 1; n <= 20; n++ {
		list = append(list, fault{fmt.Sprint("alloc", n), func(d *gputest.FaultDevice) { d.FailAlloc(n) }, false, "out of memory"})
	}
	return list
}

// A fault, in the first call or in a later one, changes no answer. It is counted, logged and explained.
func TestFaultsChangeNoAnswer(t *testing.T) {
	_, dev := emulated(t)
	for _, f := range faults() {
		for _, j := range jobs {
			for _, warm := range []bool{false, true} {
				if warm && f.name == "corrupted" {
					continue // admission is done at the first call
				}
				t.Run(fmt.Sprintf("%s/%s/warm=%t", f.name, j.name, warm), func(t *testing.T) { testFault(t, dev, f, j, warm) })
			}
		}
	}
}

func testFault(t *testing.T, dev gpu.Device, f fault, j job, warm bool) {
	faulty := gputest.Fault(dev)
	ctx := onDevice(t, faulty)
	mem := compute.GetAllocator(ctx)
	values, mask := counting(mem, 1000), testBools(1000)
	defer values.Release()
	defer mask.Release()
	want, err := j.run(onCPU(), values, mask)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Release()
	if warm {
		checkJob(t, ctx, j, values, mask, want)
	}
	var log bytes.Buffer
	compute.SetLogger(slog.New(slog.NewTextHandler(&log, nil)))
	defer compute.SetLogger(nil)
	before, injected := fallbacks(j.counted), faulty.Counts().Injected
	f.inject(faulty)
	checkJob(t, ctx, j, values, mask, want)
	if faulty.Counts().Injected == injected {
		if !warm && !strings.HasPrefix(f.name, "alloc") {
			t.Fatal("the fault took no effect")
		}
		return
	}
	count := fallbacks(j.counted) - before
	if strings.HasPrefix(f.name, "alloc") && count == 0 {
		return // the allocator tried once more after emptying its cache, or used other memory
	}
	if count == 0 {
		t.Error("no fallback was counted")
	}
	if !strings.Contains(log.String(), f.reason) {
		t.Errorf("the log says %q, not %q", log.String(), f.reason)
	}
	explainFault(t, ctx, f, j, values, mask)
	commits := faulty.Counts().Commits
	checkJob(t, ctx, j, values, mask, want)
	if f.name == "lost" && faulty.Counts().Commits != commits {
		t.Error("a lost device was tried again")
	}
}

// explainFault checks that Explain shows a fault that lasts.
func explainFault(t *testing.T, ctx context.Context, f fault, j job, values, mask arrow.Array) {
	t.Helper()
	if !f.lasts || j.name == "batch" {
		return
	}
	args := borrowed(values, mask)
	switch j.name {
	case "sum":
		args = args[:1]
	case "add", "less":
		args[1] = args[0]
	}
	if j.name == "less" {
		args[1] = compute.NewDatum(int64(500))
	}
	why, err := compute.Explain(ctx, j.name, nil, args...)
	if err != nil || why.Device != "cpu" || !strings.Contains(why.Reason, f.reason) {
		t.Errorf("Explain: %v, %v; want the CPU because of %q", why, err, f.reason)
	}
}

func checkJob(t *testing.T, ctx context.Context, j job, values, mask arrow.Array, want compute.Datum) {
	t.Helper()
	got, err := j.run(ctx, values, mask)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if err := equal.Datums(got, want); err != nil {
		t.Fatal(err)
	}
}

func fallbacks(functions []string) (n int64) {
	for _, s := range compute.Stats() {
		for _, f := range functions {
			if s.Function == f && s.Device != "cpu" {
				n += s.Fallbacks
			}
		}
	}
	return n
}

// Results of a lost device's allocator must come from somewhere: the call does not fail.
func TestLostDeviceStillAllocates(t *testing.T) {
	_, dev := emulated(t)
	faulty := gputest.Fault(dev)
	ctx := onDevice(t, faulty)
	values := counting(arrowmem.DefaultAllocator, 1000)
	mask := testBools(1000)
	defer values.Release()
	defer mask.Release()
	for _, j := range jobs {
		want, err := j.run(onCPU(), values, mask)
		if err != nil {
			t.Fatal(err)
		}
		faulty.Lose(1)
		checkJob(t, ctx, j, values, mask, want)
		want.Release()
	}
	if mem := compute.GetAllocator(ctx).(*memory.Allocator); mem.Stats().Active != 0 {
		t.Errorf("%d bytes are left", mem.Stats().Active)
	}
}

// A kernel that gives wrong answers is refused; the others go on.
func TestOneBadKernel(t *testing.T) {
	_, dev := emulated(t)
	faulty := gputest.Fault(dev)
	ctx := onDevice(t, faulty)
	faulty.CorruptKernels(func(name string) bool { return strings.HasPrefix(name, "add") })
	values := counting(compute.GetAllocator(ctx), 100)
	defer values.Release()
	for _, c := range []struct{ function, device string }{{"add", "cpu"}, {"sub", "emulator"}, {"sum", "emulator"}} {
		args := borrowed(values, values)
		if c.function == "sum" {
			args = args[:1]
		}
		out, err := compute.CallFunction(ctx, c.function, nil, args...)
		if err != nil {
			t.Fatal(err)
		}
		out.Release()
		why, err := compute.Explain(ctx, c.function, nil, args...)
		if err != nil || why.Device != c.device {
			t.Errorf("%v, %v: want %s", why, err, c.device)
		}
	}
}
