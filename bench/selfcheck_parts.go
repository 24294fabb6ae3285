//go:build (linux || (darwin && !nogpu)) && (amd64 || arm64)

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
	"github.com/broadhead-go/broadhead/gpu/metal"
	"github.com/broadhead-go/broadhead/msl"
)

// checkPart is a part of the self-check: what it writes to standard output, and how that is read.
type checkPart struct {
	name, what string
	run        func(ctx context.Context, quick bool, emit func(metal.Finding)) error
	read       func(io.Reader) []metal.Finding
}

var checkParts = []checkPart{
	{"driver", "messages, limits, commands, kernels and times", checkDriver, readFindings},
	{"suite", "the suite that every driver passes", checkSuite, readSuite},
	{"functions", "every function against the CPU", checkFunctions, readFindings},
}

// runPart is the process of one part.
func runPart(ctx context.Context, name string, quick bool, out io.Writer) error {
	for _, p := range checkParts {
		if p.name == name {
			enc := json.NewEncoder(out)
			// What cannot be written is missed by who reads it.
			return p.run(ctx, quick, func(f metal.Finding) { _ = enc.Encode(f) })
		}
	}
	return fmt.Errorf("the self-check has no part %q", name)
}

// sample is every how many kernels a quick check compiles one.
const sample = 100

func checkDriver(ctx context.Context, quick bool, emit func(metal.Finding)) error {
	libs, err := metalLibs()
	if err != nil {
		return err
	}
	o := metal.CheckOptions{Driver: metalDriver, Quick: quick}
	for i, k := range msl.Keys(compute.Kernels()...) {
		// Metal has none of the abilities, and its threadgroups do not wait for each other.
		if k.Caps == 0 && k.Skeleton != msl.CumulateLookback && (!quick || i%sample == 0) {
			o.Keys = append(o.Keys, k)
		}
	}
	return metal.SelfCheck(ctx, libs, o, emit)
}

// checkSuite runs gputest as go test would, and ends the process. A quick check leaves it out.
func checkSuite(_ context.Context, quick bool, _ func(metal.Finding)) error {
	libs, err := metalLibs()
	if err != nil {
		return err
	}
	open := func(t *testing.T) gpu.Device {
		devices, err := metal.Open(libs, metalDriver)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range devices[1:] {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return devices[0]
	}
	os.Args = []string{os.Args[0], "-test.v"}
	if quick {
		os.Args = append(os.Args, "-test.run=Suite/(Shapes|Copies|Atomics|Compile)$")
	}
	tests := []testing.InternalTest{{Name: "Suite", F: func(t *testing.T) { gputest.Run(t, open) }}}
	testing.Main(matches, tests, nil, nil)
	return nil
}
