//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"fmt"
	"time"
)

// A placement is where the second device's native call runs, seen from the Go runtime.
type placement struct {
	name, what string
	open       func(rows int) (load, error)
}

// load does one request after another on the second device.
type load interface {
	// do does a request; start and end are the stamps of where it ran.
	do() (start, end time.Duration, right bool, err error)
	// cpu is the processor time that other processes spent on it so far.
	cpu() time.Duration
	close() error
}

// placements are the configurations of the study.
var placements = []placement{
	{"A", "the native call holds the processor", here((*matrices).multiplyHeld)},
	{"B", "the native call runs in a worker process", openWorker},
	{"C", "the native call releases the processor", here((*matrices).multiplyReleased)},
	{"D", "slices with progress points, as the engine's kernels", here((*matrices).multiplySliced)},
}

func placementNamed(name string) (placement, error) {
	for _, p := range placements {
		if p.name == name {
			return p, nil
		}
	}
	return placement{}, fmt.Errorf("no configuration %q: A, B, C or D", name)
}

// local is a load in this process.
type local struct {
	m    *matrices
	call func(*matrices)
}

func here(call func(*matrices)) func(int) (load, error) {
	return func(rows int) (load, error) {
		m := newMatrices(make([]byte, matrixBytes))
		m.rows = rows
		m.multiplyHeld()
		m.keep()
		return &local{m, call}, nil
	}
}

func (l *local) do() (start, end time.Duration, right bool, err error) {
	l.m.spoil()
	start = now()
	l.call(l.m)
	end = now()
	return start, end, l.m.right(), nil
}

func (l *local) cpu() time.Duration { return 0 }
func (l *local) close() error       { return nil }
