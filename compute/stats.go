package compute

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
)

// OpStats counts the calls of one function on one device since the process began.
type OpStats struct {
	Function string
	Device   string // "cpu", "arrow-go", or a device's driver
	Runs     int64
	Rows     int64
	// Fallbacks are the calls that this device should have answered and the CPU did; LastFallback says why.
	Fallbacks    int64
	LastFallback string
}

type statKey struct{ function, device string }

type counters struct {
	runs, rows, fallbacks atomic.Int64
	last                  atomic.Pointer[string]
}

var (
	stats   sync.Map // statKey -> *counters
	logHook atomic.Pointer[slog.Logger]
)

// SetLogger makes every fallback from a device to the CPU a warning in a log; nil ends that. There is none by default.
func SetLogger(l *slog.Logger) { logHook.Store(l) }

// Stats lists what has run where, and every fallback, sorted by function and device.
func Stats() []OpStats {
	var out []OpStats
	stats.Range(func(k, v any) bool {
		key, c := k.(statKey), v.(*counters)
		if c.runs.Load() == 0 && c.fallbacks.Load() == 0 {
			return true
		}
		s := OpStats{
			Function: key.function, Device: key.device,
			Runs: c.runs.Load(), Rows: c.rows.Load(), Fallbacks: c.fallbacks.Load(),
		}
		if last := c.last.Load(); last != nil {
			s.LastFallback = *last
		}
		out = append(out, s)
		return true
	})
	slices.SortFunc(out, func(a, b OpStats) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Device, b.Device))
	})
	return out
}

func countersOf(function, device string) *counters {
	key := statKey{function, device}
	if c, ok := stats.Load(key); ok {
		return c.(*counters)
	}
	c, _ := stats.LoadOrStore(key, new(counters))
	return c.(*counters)
}

func countRun(function, device string, rows int64) { countersOf(function, device).add(rows) }

// onceCounters are the counters of one device, by function.
type onceCounters struct {
	mu    sync.Mutex
	known atomic.Pointer[map[string]*counters]
}

// countRun counts a call that the engine's device answered.
func (e *engine) countRun(function string, rows int64) {
	if m := e.counted.known.Load(); m != nil {
		if c := (*m)[function]; c != nil {
			c.add(rows)
			return
		}
	}
	e.counted.mu.Lock()
	defer e.counted.mu.Unlock()
	next := map[string]*counters{}
	if m := e.counted.known.Load(); m != nil {
		next = maps.Clone(*m)
	}
	c := countersOf(function, e.info.Driver)
	next[function] = c
	e.counted.known.Store(&next)
	c.add(rows)
}

func (c *counters) add(rows int64) {
	c.runs.Add(1)
	c.rows.Add(rows)
}

// history tells of the calls that a device left to the CPU.
func (c *counters) history(function string) string {
	n, last := c.fallbacks.Load(), c.last.Load()
	if n == 0 || last == nil {
		return ""
	}
	calls := "calls"
	if n == 1 {
		calls = "call"
	}
	return fmt.Sprintf("; %d %s of %s before fell back to the CPU, the last since %s", n, calls, function, *last)
}

func countFallback(ctx context.Context, function, device string, err error) {
	c := countersOf(function, device)
	c.fallbacks.Add(1)
	text := err.Error()
	c.last.Store(&text)
	if l := logHook.Load(); l != nil {
		l.WarnContext(ctx, "broadhead: the CPU answered for a device",
			slog.String("function", function), slog.String("device", device), slog.Any("reason", err))
	}
}

// PipelineStats counts the kernels of one device.
type PipelineStats struct {
	Device string
	Builds int64 // kernels compiled
	Hits   int64 // kernels found ready
}

// Pipelines lists the kernel caches of the devices used so far.
func Pipelines() []PipelineStats {
	var out []PipelineStats
	engines.Range(func(k, v any) bool {
		e := v.(*engine)
		out = append(out, PipelineStats{Device: k.(gpu.Device).Info().Driver, Builds: e.pipes.Builds(), Hits: e.pipes.Hits()})
		return true
	})
	return out
}
