package latency

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// Options shape a run; zeros mean the defaults.
type Options struct {
	Calls int   // of each thing that is measured: 500
	Rows  []int // lengths of columns: 1,000 to 1,000,000
}

// lab is what the measurements share.
type lab struct {
	ctx    context.Context
	dev    gpu.Device
	calls  int
	rows   []int
	report *Report
	empty  gpu.Pipeline
	buf    gpu.Buffer
	err    error
}

// Run measures everything that a device has. It changes settings of package gpu while it runs and restores them.
func Run(ctx context.Context, dev gpu.Device, o Options) (*Report, error) {
	info := dev.Info()
	l := &lab{ctx: ctx, dev: dev, calls: o.Calls, rows: o.Rows, report: &Report{
		Device: info.Name, Driver: info.Driver,
		Machine: fmt.Sprintf("%s/%s, GOMAXPROCS %d, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()),
	}}
	if l.calls == 0 {
		l.calls = 500
	}
	if l.rows == nil {
		l.rows = []int{1000, 10_000, 100_000, 1_000_000}
	}
	if info.Driver == "emulator" {
		l.report.Warning = "The emulator simulates a GPU on the CPU: these times say nothing about a device."
	}
	low, spin, how := gpu.LowLatencyWait(), gpu.SpinMicroseconds(), gpu.WaitStrategyInForce()
	defer func() {
		gpu.SetLowLatencyWait(low)
		gpu.SetSpinMicroseconds(spin)
		gpu.SetWaitStrategy(how)
	}()
	var err error
	if l.empty, err = dev.Compile(gpu.Source{Name: "nothing", Text: emptyText}); err != nil {
		return nil, err
	}
	defer l.empty.Release()
	if l.buf, err = dev.Alloc(4096, gpu.Shared); err != nil {
		return nil, err
	}
	defer l.buf.Release()
	for _, part := range []func(){l.floors, l.stages, l.strategies, l.amortisation, l.floor, l.beforeAfter, l.operations, l.power, l.residentProbe, l.residentWorker} {
		if part(); l.err != nil {
			return nil, l.err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return l.report, nil
}

// table begins a table.
func (l *lab) table(name, note string, head ...string) *Table {
	t := &Table{Name: name, Note: note, Head: head}
	l.report.Tables = append(l.report.Tables, t)
	return t
}

// check notes the first error; what is measured after it does not count.
func (l *lab) check(err error) {
	if l.err == nil {
		l.err = err
	}
}

// times runs f some times, a tenth of them to warm up, and gives the shortest and the median.
func (l *lab) times(n int, f func()) (shortest, median Number) {
	for range n/10 + 1 {
		f()
	}
	all := make([]time.Duration, n)
	for i := range all {
		if l.err != nil {
			return missing, missing
		}
		start := time.Now()
		f()
		all[i] = time.Since(start)
	}
	return stats(all)
}

func stats(all []time.Duration) (shortest, median Number) {
	slices.Sort(all)
	return micros(all[0]), micros(all[len(all)/2])
}

func micros(d time.Duration) Number { return Number(float64(d) / 1e3) }

const emptyText = "#include <metal_stdlib>\nusing namespace metal;\nkernel void nothing(device int* a [[buffer(0)]], uint i [[thread_position_in_grid]]) {}\n"
