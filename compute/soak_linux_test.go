//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// envSoak is how many eager calls the soaks make, and a tenth of it how many batches: 1000000 before a release.
const envSoak = "BROADHEAD_TEST_SOAK"

func soakCalls(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv(envSoak)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 10 {
		t.Fatalf("%s=%q: want a number of calls", envSoak, text)
	}
	return n
}

func TestSoakOnCPU(t *testing.T) {
	mem := memory.New(nil)
	soak(t, compute.WithAllocator(onCPU(), mem), nil, mem, soakCalls(t, 20_000))
}

func TestSoakOnEmulator(t *testing.T) {
	ctx, dev := emulated(t)
	soak(t, ctx, dev, compute.GetAllocator(ctx).(*memory.Allocator), min(soakCalls(t, 1000), 20_000))
}

func TestSoakOnCUDA(t *testing.T) {
	dev := cudaDevice(t)
	if dev == nil {
		return
	}
	ctx := onDevice(t, dev)
	soak(t, ctx, dev, compute.GetAllocator(ctx).(*memory.Allocator), soakCalls(t, 20_000))
}

// held is what a process holds.
type held struct {
	rss, device, heap int64 // bytes; device memory that nobody can have any more
	goroutines        int
}

func (h held) String() string {
	return fmt.Sprintf("RSS %d KiB, device memory %d KiB, Go heap %d KiB, %d goroutines", h.rss>>10, h.device>>10, h.heap>>10, h.goroutines)
}

func heldNow(t *testing.T, dev gpu.Device) (h held) {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	h.rss = pages * int64(os.Getpagesize())
	if gauge, ok := dev.(gpu.MemoryGauge); ok {
		free, err := gauge.FreeMemory()
		if err != nil {
			t.Fatal(err)
		}
		h.device = dev.Info().MemoryBytes - free
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.heap, h.goroutines = int64(m.HeapAlloc), runtime.NumGoroutine()
	return h
}

// slack is by how much a process may differ from itself.
const slack = 8 << 20

// soak makes calls, and a tenth as many batches, and sees that the process holds after all what it held after some.
func soak(t *testing.T, ctx context.Context, dev gpu.Device, mem *memory.Allocator, calls int) {
	values, mask := counting(mem, 1000), testBools(1000)
	defer values.Release()
	defer mask.Release()
	for _, c := range []struct {
		name string
		n    int
		jobs []job
	}{{"calls", calls, jobs[:4]}, {"batches", calls / 10, jobs[4:5]}} {
		var wants []compute.Datum
		for _, j := range c.jobs {
			want, err := j.run(onCPU(), values, mask)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Release()
			wants = append(wants, want)
		}
		run := func(n int) {
			for i := range n {
				k := i % len(c.jobs)
				if i < 40 || i%1000 < 4 {
					checkJob(t, ctx, c.jobs[k], values, mask, wants[k])
				} else if err := runJob(ctx, c.jobs[k], values, mask); err != nil {
					t.Fatalf("%s, number %d: %v", c.jobs[k].name, i, err)
				}
			}
		}
		run(max(c.n/10, 50))
		stats := mem.Stats()
		// What leaks grows each time; what the runtime had not yet taken grows once.
		for round := 1; ; round++ {
			before := heldNow(t, dev)
			start := time.Now()
			run(c.n)
			took := time.Since(start)
			after := heldNow(t, dev)
			t.Logf("%d %s in %v: %v; before: %v", c.n, c.name, took.Round(time.Millisecond), after, before)
			if after.rss <= before.rss+slack && after.device <= before.device+slack && after.heap <= before.heap+slack &&
				after.goroutines <= before.goroutines+2 {
				break
			}
			if round == 3 {
				t.Errorf("%d %s, for the third time: before them %v, after them %v", c.n, c.name, before, after)
				break
			}
		}
		now := mem.Stats()
		if now.Active != stats.Active || now.Parked != 0 || now.BadFrees != 0 || now.Reserved > stats.Reserved {
			t.Errorf("%d %s: the allocator held %+v before them, %+v after them", c.n, c.name, stats, now)
		}
	}
}

func runJob(ctx context.Context, j job, values, mask arrow.Array) error {
	out, err := j.run(ctx, values, mask)
	if err == nil {
		out.Release()
	}
	return err
}
