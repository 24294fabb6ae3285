//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/trace"
	"strings"
	"time"

	exptrace "golang.org/x/exp/trace"
)

// waitRegion marks the goroutine that waits for the GPU in an execution trace.
const waitRegion = "wait for the GPU"

// traced measures a window with the execution trace on, and keeps where the waiter spent its time between a request's
// commit and its answer, and the goroutine that blocks in the driver for it.
func (h *harness) traced(w *window, p placement, gpu bool, due []time.Duration) error {
	var raw bytes.Buffer
	if err := trace.Start(&raw); err != nil {
		return err
	}
	err := h.measure(w, p, gpu, due)
	trace.Stop()
	if err != nil {
		return err
	}
	w.WaitStack, err = waiterStates(&raw)
	return err
}

// watch follows one goroutine through a trace.
type watch struct {
	name   string
	state  exptrace.GoState
	since  exptrace.Time
	inside bool // of the region, for the waiter
}

// waiterStates adds up the states of the waiter inside its region, and of the blocking goroutine altogether.
func waiterStates(raw io.Reader) (states, error) {
	reader, err := exptrace.NewReader(raw)
	if err != nil {
		return nil, err
	}
	sum := states{}
	watched := map[exptrace.GoID]*watch{}
	add := func(g *watch, until exptrace.Time) {
		if g.state != exptrace.GoUndetermined && g.state != exptrace.GoNotExist && (g.inside || g.name != "waiter") {
			sum[g.name+" "+strings.ToLower(g.state.String())] += float64(until.Sub(g.since)) / 1e6
		}
		g.since = until
	}
	for {
		ev, err := reader.ReadEvent()
		if errors.Is(err, io.EOF) {
			return sum, nil
		}
		if err != nil {
			return nil, fmt.Errorf("execution trace: %w", err)
		}
		switch ev.Kind() {
		case exptrace.EventRegionBegin, exptrace.EventRegionEnd:
			if ev.Region().Type != waitRegion {
				continue
			}
			g := watched[ev.Goroutine()]
			if g == nil {
				g = &watch{name: "waiter", state: exptrace.GoRunning, since: ev.Time()}
				watched[ev.Goroutine()] = g
			}
			add(g, ev.Time())
			g.inside = ev.Kind() == exptrace.EventRegionBegin
		case exptrace.EventStateTransition:
			t := ev.StateTransition()
			if t.Resource.Kind != exptrace.ResourceGoroutine {
				continue
			}
			id := t.Resource.Goroutine()
			from, to := t.Goroutine()
			g := watched[id]
			if g == nil && blocksInDriver(t.Stack) {
				g = &watch{name: "blocker", state: from, since: ev.Time()}
				watched[id] = g
			}
			if g != nil {
				add(g, ev.Time())
				g.state = to
			}
		}
	}
}

// blocksInDriver recognizes the goroutine that waits in the driver for those that sleep.
func blocksInDriver(stack exptrace.Stack) bool {
	for f := range stack.Frames() {
		if strings.HasSuffix(f.Func, "(*Completions).join") {
			return true
		}
	}
	return false
}
