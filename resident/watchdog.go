package resident

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// defaultSpin is how long WatchdogProbe's longest kernel runs when nothing else is said.
const defaultSpin = 2 * time.Second

// Spin is one kernel of a WatchdogProbe.
type Spin struct {
	Asked time.Duration // how long the kernel was meant to run
	Ran   time.Duration // how long it did, until the host knew
	Err   error         // what the device said: a watchdog's end of it, for instance
}

// WatchdogProbe runs kernels that do nothing for ever longer, the last for d (2 seconds if d is 0, at most 10 minutes), and
// reports what the device said to each: whether something ends kernels that run for long. The device does nothing else
// meanwhile, which a display may show, and gpu.CommandTimeout is longer meanwhile if need be. The error is ctx's, or that of a device that cannot begin; a kernel that was ended is
// no error but a Spin with one, and the last.
func WatchdogProbe(ctx context.Context, d gpu.Device, longest time.Duration) ([]Spin, error) {
	if longest == 0 {
		longest = defaultSpin
	}
	if longest < 0 || longest > maxWindow {
		return nil, fmt.Errorf("resident: a kernel of %v: at most %v", longest, maxWindow)
	}
	defer allow(longest)()
	p := probe{ctx: ctx, dev: d, o: &Options{Window: longest, Interval: longest}}
	var spins []Spin
	err := p.prepare(&forms[0], func(params probeParams, ran time.Duration) error {
		perLook := float64(ran) / float64(params.Looks)
		for _, part := range []time.Duration{16, 4, 1} {
			s := Spin{Asked: longest / part}
			params.Looks = uint32(min(max(float64(s.Asked)/perLook, 64), maxLooks))
			s.Ran, s.Err = p.spin(params)
			if err := ctx.Err(); err != nil {
				return err
			}
			spins = append(spins, s)
			if s.Err != nil {
				return nil
			}
		}
		return nil
	})
	return spins, err
}

// SpinTable is what WatchdogProbe found, as a table.
func SpinTable(spins []Spin) string {
	var b strings.Builder
	b.WriteString("asked    ran      the device said\n")
	for _, s := range spins {
		said := "nothing: it ended by itself"
		if s.Err != nil {
			said = s.Err.Error()
		}
		fmt.Fprintf(&b, "%-8s %-8s %s\n", span(s.Asked), span(s.Ran), said)
	}
	return b.String()
}
