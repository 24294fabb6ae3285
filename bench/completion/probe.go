//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// The loads of the probe: work or plain sleep, with the processor held or released, and nothing.
func probeLoads(call time.Duration) []placement {
	nap := func(sleep func(time.Duration)) func(int) (load, error) {
		return func(int) (load, error) { return napper{call, sleep}, nil }
	}
	return []placement{
		{"idle", "no load", nil},
		{"work held", "a call of assembly", here((*matrices).multiplyHeld)},
		{"work released", "the same as a native call", here((*matrices).multiplyReleased)},
		{"sleep held", "a system call that the runtime is not told of", nap(sleepHeld)},
		{"sleep released", "the same as Go makes it", nap(sleepReleased)},
	}
}

// napper sleeps instead of working.
type napper struct {
	length time.Duration
	sleep  func(time.Duration)
}

func (n napper) do() (start, end time.Duration, right bool, err error) {
	start = now()
	n.sleep(n.length)
	end = now()
	return start, end, end-start >= n.length, nil
}

func (napper) cpu() time.Duration { return 0 }
func (napper) close() error       { return nil }

const (
	probeCell   = "probe"
	tracedCell  = "probe, traced"
	probeRounds = 3
)

// probe measures what the raw file lacks: the loads in turn, three times, at GOMAXPROCS 1, 2 and all; then, in windows of
// their own, the states of the waiter under the two kinds of work.
func (h *harness) probe(out io.Writer, raw rawFile, call time.Duration) error {
	_, have, err := raw.read()
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, w := range have {
		done[w.key()] = true
	}
	procs := []int{1, 2, runtime.NumCPU()}
	slices.Sort(procs)
	procs = slices.Compact(procs)
	for _, traced := range []bool{false, true} {
		for round := range probeRounds {
			for _, n := range procs {
				for _, p := range probeLoads(call) {
					w := &window{Config: p.name, Pressure: fmt.Sprintf("GOMAXPROCS %d", n), Cell: probeCell, Cycle: round, Procs: n, Loads: 1}
					if p.open == nil {
						w.Loads = 0
					}
					measure := h.measure
					if traced {
						if n != 1 || round > 0 {
							continue
						}
						w.Cell, measure = tracedCell, h.traced
					}
					if done[w.key()] {
						continue
					}
					if err := measure(w, p, true, nil); err != nil {
						return fmt.Errorf("%s: %w", w.key(), err)
					}
					if err := raw.add(w); err != nil {
						return err
					}
					fmt.Fprintln(out, "        ", w.summary())
				}
			}
		}
	}
	return nil
}
