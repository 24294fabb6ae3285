//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu/gputest"
)

func TestExplainSaysWhy(t *testing.T) {
	ctx, _ := emulated(t)
	ours := counting(compute.GetAllocator(ctx), 100)
	theirs := counting(arrowmem.DefaultAllocator, 100)
	none := testInts(compute.GetAllocator(ctx))
	full := testInts(compute.GetAllocator(ctx), 1, 2, 3)
	defer ours.Release()
	defer theirs.Release()
	defer none.Release()
	defer full.Release()
	explain := func(function string, args ...arrow.Array) compute.Decision {
		t.Helper()
		why, err := compute.Explain(ctx, function, nil, borrowed(args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return why
	}
	expect := func(why compute.Decision, device string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(why.String(), w) {
				t.Errorf("%q does not say %q", why, w)
			}
		}
		if why.Device != device {
			t.Errorf("%q: on %s, want %s", why, why.Device, device)
		}
	}
	if err := compute.SetCrossover("sum", 50); err != nil {
		t.Fatal(err)
	}
	if err := compute.SetCrossover("min", 101); err != nil {
		t.Fatal(err)
	}
	if err := compute.SetCrossover("max", compute.Never); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, f := range []string{"sum", "min", "max"} {
			_ = compute.SetCrossover(f, -1)
		}
	}()
	expect(explain("sum", ours), "emulator", "100 rows", "GPU-visible", "crossover 50", "set for sum")
	expect(explain("sum", theirs), "emulator", "foreign memory")
	expect(explain("min", ours), "cpu", "below the crossover of 101", "set for min")
	expect(explain("max", ours), "cpu", "never wins", "set for max")
	expect(explain("mean", none), "cpu", "no rows")
	expect(explain("is_null", full), "cpu", "no validity bitmap")
	if why := explain("sum", ours); why.Rows != 100 || why.Crossover != 50 || why.Place != compute.HostMemory || why.Function != "sum" {
		t.Errorf("%+v", why)
	}
	if why := explain("sum", theirs); why.Place != compute.ForeignMemory {
		t.Errorf("%+v", why)
	}
	cpuCtx := compute.WithDevice(ctx, nil)
	why, err := compute.Explain(cpuCtx, "add", nil, borrowed(ours, ours)...)
	if err != nil {
		t.Fatal(err)
	}
	expect(why, "cpu", "the context asks for the CPU")
	// results in memory that the device does not see are copied
	why, err = compute.Explain(compute.WithAllocator(ctx, arrowmem.DefaultAllocator), "add", nil, borrowed(ours, ours)...)
	if err != nil {
		t.Fatal(err)
	}
	expect(why, "emulator", "copied: not in GPU memory")
	// without SetCrossover the emulator never wins
	if err := compute.SetCrossover("", -1); err != nil {
		t.Fatal(err)
	}
	expect(explain("add", ours, ours), "cpu", "never wins", "default for emulator")
}

// A kernel is built at the first call and never again, however many calls come at once.
func TestKernelsAreBuiltOnce(t *testing.T) {
	_, dev := emulated(t)
	call := func(faulty *gputest.FaultDevice, callers int) (compiles int) {
		ctx := onDevice(t, faulty)
		values := counting(compute.GetAllocator(ctx), 500)
		defer values.Release()
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for _, f := range []string{"add", "sum", "less"} {
					args := borrowed(values, values)
					if f == "sum" {
						args = args[:1]
					}
					out, err := compute.CallFunction(ctx, f, nil, args...)
					if err != nil {
						t.Error(err)
						return
					}
					out.Release()
				}
			})
		}
		wg.Wait()
		return faulty.Counts().Compiles
	}
	before := built()
	one := gputest.Fault(dev)
	first := call(one, 1)
	if first == 0 || built()-before != int64(first) {
		t.Fatalf("%d compilations, %d builds counted", first, built()-before)
	}
	if again := call(one, 1); again != first {
		t.Errorf("warm calls compiled %d more kernels", again-first)
	}
	if built()-before != int64(first) {
		t.Errorf("warm calls built %d more kernels", built()-before-int64(first))
	}
	if many := call(gputest.Fault(dev), 64); many != first {
		t.Errorf("64 callers compiled %d kernels, one caller %d", many, first)
	}
}

func built() (n int64) {
	for _, p := range compute.Pipelines() {
		n += p.Builds
	}
	return n
}
