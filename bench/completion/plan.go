//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// The pressures: without one Go delays nothing, and a matrix would prove nothing.
var pressures = []string{
	"p1",  // GOMAXPROCS 1, one load
	"all", // as many loads as processors
	"gc",  // one load, and a garbage collection every 20 ms
}

// The cells of one pressure.
const (
	soloGPU    = "solo:gpu"
	soloSecond = "solo:second"
	matrix     = "matrix"       // both, closed loops
	fixed      = "matrix@fixed" // both, the GPU's client at 0.95 of the rate that it has in A's matrix
)

const fixedShare = 0.95

// plan lists the windows of a run. The order of the configurations is turned around from cycle to cycle, and cells at a
// fixed rate come after those that say which.
func plan(cycles int) (all []*window) {
	for cycle := range cycles {
		configs := slices.Clone(placements)
		if cycle%2 == 1 {
			slices.Reverse(configs)
		}
		for _, pressure := range pressures {
			for _, cell := range []string{soloGPU, soloSecond, matrix, fixed} {
				for _, p := range configs {
					if cell == soloGPU && p.name != "A" {
						continue // there the configurations do not differ
					}
					w := &window{Config: p.name, Pressure: pressure, Cell: cell, Cycle: cycle, Procs: runtime.NumCPU(), Loads: 1}
					switch {
					case pressure == "p1":
						w.Procs = 1
					case pressure == "all":
						w.Loads = w.Procs
					}
					if cell == soloGPU {
						w.Loads = 0
					}
					all = append(all, w)
				}
			}
		}
	}
	return all
}

// run measures the windows of a plan that the raw file does not have yet, and adds each to it at once.
func (h *harness) run(out io.Writer, raw rawFile, windows []*window) error {
	_, have, err := raw.read()
	if err != nil {
		return err
	}
	rate := map[string][]float64{} // of A's matrix, by pressure
	done := map[string]bool{}
	for _, w := range have {
		done[w.key()] = true
		if w.Config == "A" && w.Cell == matrix {
			rate[w.Pressure] = append(rate[w.Pressure], float64(len(w.GPU.Submit))/w.Seconds)
		}
	}
	for i, w := range windows {
		if done[w.key()] {
			continue
		}
		p, err := placementNamed(w.Config)
		if err != nil {
			return err
		}
		var due []time.Duration
		if w.Cell == fixed {
			known := rate[w.Pressure]
			if len(known) == 0 {
				return fmt.Errorf("%s: no rate of A's matrix to hold", w.key())
			}
			l := h.lengths
			w.Rate = max(fixedShare*known[0], 1/l.measure.Seconds())
			due, w.Hash = schedule(w.Rate, l.warm+l.measure+2*l.guard, 1)
		}
		if err := h.measure(w, p, w.Cell != soloSecond, due); err != nil {
			return fmt.Errorf("%s: %w", w.key(), err)
		}
		if w.Config == "A" && w.Cell == matrix {
			rate[w.Pressure] = append(rate[w.Pressure], float64(len(w.GPU.Submit))/w.Seconds)
		}
		if err := raw.add(w); err != nil {
			return err
		}
		fmt.Fprintf(out, "%3d/%d  %s\n", i+1, len(windows), w.summary())
	}
	return nil
}

// summary is a window in one line.
func (w *window) summary() string {
	text := fmt.Sprintf("%-24s", w.key())
	if w.GPU != nil {
		leg := between(w.GPU.End, w.GPU.Received)
		text += fmt.Sprintf("  GPU %6.1f/s, return leg %.3f / %.3f ms (P50 / P99)", float64(len(leg))/w.Seconds,
			percentile(leg, 50), percentile(leg, 99))
	}
	n := 0
	for i := range w.Second {
		n += len(w.Second[i].Submit)
	}
	if w.Loads > 0 {
		text += fmt.Sprintf("  second %6.1f/s", float64(n)/w.Seconds)
	}
	return text
}
