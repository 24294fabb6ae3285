//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// lengths are the parts of a window.
type lengths struct {
	settle, warm, measure, guard time.Duration
}

// harness is what all windows of a run share.
type harness struct {
	server  *server
	rows    int // of the matrix that a request of the second device multiplies
	lengths lengths
	live    []byte // what the garbage collector has to keep
}

// gcEvery is the pause between collections under the pressure gc.
const gcEvery = 20 * time.Millisecond

// measure runs one window: settle, start all clients, warm up, measure, and go on for a moment.
func (h *harness) measure(w *window, p placement, gpu bool, due []time.Duration) error {
	time.Sleep(h.lengths.settle)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(w.Procs))
	var stop atomic.Bool
	var all sync.WaitGroup
	seconds := make([]*secondClient, w.Loads)
	for i := range seconds {
		l, err := p.open(h.rows)
		if err != nil {
			return err
		}
		defer l.close()
		seconds[i] = &secondClient{load: l, stop: &stop}
	}
	before, err := h.server.tie()
	if err != nil {
		return err
	}
	from := now() + h.lengths.warm
	to := from + h.lengths.measure
	var client *gpuClient
	if gpu {
		client = &gpuClient{server: h.server}
		for _, d := range due {
			client.due = append(client.due, d+from-h.lengths.warm)
		}
		all.Go(client.run)
	}
	for _, c := range seconds {
		all.Go(c.run)
	}
	if w.Pressure == "gc" {
		all.Go(func() {
			for !stop.Load() {
				runtime.GC()
				time.Sleep(gcEvery)
			}
		})
	}
	sleepUntil(from)
	first := h.sample(seconds)
	sleepUntil(to)
	last := h.sample(seconds)
	time.Sleep(h.lengths.guard)
	stop.Store(true)
	if client != nil {
		client.stop.Store(true)
	}
	all.Wait()
	runtime.KeepAlive(h.live)
	after, err := h.server.tie()
	if err != nil {
		return err
	}

	w.Seconds = h.lengths.measure.Seconds()
	took := (last.at - first.at).Seconds()
	w.CPU = (last.own - first.own).Seconds() / took * w.Seconds
	w.Others = max((last.machine-first.machine-(last.own-first.own)).Seconds()/took, 0)
	w.Load = first.load
	w.GCStop = worst(first.stops, last.stops) * 1e3
	w.SchedP99 = quantile(first.latencies, last.latencies, 0.99) * 1e3
	if client != nil {
		toHost(client.rows, before, after)
		w.GPU = columns(client.rows, from, to, true)
		for _, s := range client.rows {
			if s.err != nil {
				return fmt.Errorf("the GPU failed: %w", s.err)
			}
		}
	}
	var failed error
	for _, c := range seconds {
		w.Second = append(w.Second, *columns(c.rows, from, to, false))
		failed = errors.Join(failed, c.err)
	}
	return failed
}

// sample is the state of the counters at one time.
type sample struct {
	at, own, machine time.Duration
	load             float64
	stops, latencies *metrics.Float64Histogram
}

func (h *harness) sample(seconds []*secondClient) sample {
	read := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}, {Name: "/sched/latencies:seconds"}}
	metrics.Read(read)
	s := sample{at: now(), own: ownTime(), stops: read[0].Value.Float64Histogram(), latencies: read[1].Value.Float64Histogram()}
	for _, c := range seconds {
		s.own += c.load.cpu()
	}
	s.machine, s.load = machineTime()
	return s
}

// ownTime is the processor time of this process.
func ownTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// worst is the upper end of the highest bucket that has grown, 0 if none has.
func worst(before, after *metrics.Float64Histogram) float64 {
	for i := len(after.Counts) - 1; i >= 0; i-- {
		if after.Counts[i] > before.Counts[i] {
			return upper(after, i)
		}
	}
	return 0
}

// quantile is the upper end of the bucket that has it, of what came between.
func quantile(before, after *metrics.Float64Histogram, q float64) float64 {
	var total, seen uint64
	for i := range after.Counts {
		total += after.Counts[i] - before.Counts[i]
	}
	for i := range after.Counts {
		seen += after.Counts[i] - before.Counts[i]
		if total > 0 && float64(seen) >= q*float64(total) {
			return upper(after, i)
		}
	}
	return 0
}

func upper(h *metrics.Float64Histogram, i int) float64 {
	if at := h.Buckets[i+1]; !math.IsInf(at, 1) {
		return at
	}
	return h.Buckets[i]
}
