// Package race lets engines take turns at the same work, and says how they compare.
package race

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ErrCannot says that an engine has no such operation.
var ErrCannot = errors.New("has no such operation")

// Runner does one operation of one engine.
type Runner interface {
	Run(n int) (time.Duration, error) // n times
	Check() ([]float64, error)        // numbers that all engines must agree on; none: nothing to agree on
	Variant() string                  // the engine's way that was chosen, if it has several
	Close()
}

// Entry is an engine in a race.
type Entry struct {
	Name  string
	Start func() (Runner, error)
}

// Time is what an engine took for one call.
type Time struct {
	Median  time.Duration `json:"median_ns"`
	Min     time.Duration `json:"min_ns"`
	Variant string        `json:"variant,omitempty"`
}

// Settings say how long a race lasts.
type Settings struct {
	Rounds int           // samples of each engine
	Sample time.Duration // least time of a sample
	Limit  time.Duration // an engine whose calls take longer has a few samples only
}

// Outcome is the times of the engines that can do the work.
type Outcome struct {
	Times   map[string]Time   `json:"times"`
	Missing map[string]string `json:"missing,omitempty"`
}

type runner struct {
	Runner
	name    string
	batch   int
	samples []time.Duration
	rounds  int
}

// Run lets all entries run in turns. Wrong answers and failures are reasons in Missing.
func Run(s Settings, entries []Entry) Outcome {
	out := Outcome{Times: map[string]Time{}, Missing: map[string]string{}}
	var all []*runner
	defer func() {
		for _, r := range all {
			r.Close()
		}
	}()
	var want []float64
	var wantFrom string
	for _, e := range entries {
		r, err := e.Start()
		if err == nil {
			all = append(all, &runner{Runner: r, name: e.Name})
			var got []float64
			if got, err = r.Check(); err == nil && got != nil {
				if want == nil {
					want, wantFrom = got, e.Name
				} else if !near(got, want) {
					err = fmt.Errorf("answers %v, and %s %v", got, wantFrom, want)
				}
			}
			if err == nil {
				err = all[len(all)-1].warmUp(s)
			}
			if err != nil {
				r.Close()
				all = all[:len(all)-1]
			}
		}
		if err != nil {
			out.Missing[e.Name] = err.Error()
		}
	}
	for round := range s.Rounds {
		for i := 0; i < len(all); i++ {
			r := all[i]
			if round >= r.rounds {
				continue
			}
			d, err := r.Run(1) // what the engines before left in the caches is not this one's matter
			if err == nil {
				d, err = r.Run(r.batch)
			}
			if err != nil {
				out.Missing[r.name] = err.Error()
				r.Close()
				all = slices.Delete(all, i, i+1)
				i--
				continue
			}
			r.samples = append(r.samples, d/time.Duration(r.batch))
		}
	}
	for _, r := range all {
		slices.Sort(r.samples)
		n := len(r.samples)
		out.Times[r.name] = Time{Median: max(1, (r.samples[(n-1)/2]+r.samples[n/2])/2), Min: max(1, r.samples[0]), Variant: r.Variant()}
	}
	return out
}

// warmUp finds how many calls make a sample.
func (r *runner) warmUp(s Settings) error {
	var d time.Duration
	for n := 1; ; n *= 4 {
		var err error
		if d, err = r.Run(n); err != nil {
			return err
		}
		if n > 1 || d > s.Limit {
			d /= time.Duration(n)
			if d*time.Duration(n) >= s.Sample/4 || d > s.Limit {
				break
			}
		}
	}
	r.batch, r.rounds = int(s.Sample/max(d, 1))+1, s.Rounds
	if d > s.Limit {
		r.rounds = min(3, s.Rounds)
	}
	return nil
}

// near compares sums of floats that were added in different orders.
func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return x == y || math.Abs(x-y) <= 1e-6*max(1, math.Abs(x), math.Abs(y))
	})
}
