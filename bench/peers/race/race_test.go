package race

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fake takes a constant time and gives a constant answer.
type fake struct {
	each   time.Duration
	answer []float64
	fails  error
	runs   *[]time.Duration
	closed int
}

func (f *fake) Run(n int) (time.Duration, error) {
	if f.runs != nil {
		*f.runs = append(*f.runs, f.each)
	}
	return time.Duration(n) * f.each, f.fails
}
func (f *fake) Check() ([]float64, error) { return f.answer, nil }
func (f *fake) Variant() string           { return "plain" }
func (f *fake) Close()                    { f.closed++ }

func entry(name string, f *fake) Entry {
	return Entry{name, func() (Runner, error) { return f, nil }}
}

func TestRun(t *testing.T) {
	quick, slow := &fake{each: time.Millisecond, answer: []float64{3, 1e9}}, &fake{each: time.Second, answer: []float64{3, 1e9 + 1}}
	wrong, broken := &fake{each: 1, answer: []float64{4, 1e9}}, &fake{each: 1, fails: errors.New("broke")}
	floor := &fake{each: 10}
	s := Settings{Rounds: 5, Sample: 5 * time.Millisecond, Limit: 100 * time.Millisecond}
	out := Run(s, []Entry{entry("quick", quick), entry("slow", slow), entry("wrong", wrong), entry("broken", broken), entry("floor", floor),
		{"none", func() (Runner, error) { return nil, ErrCannot }}})
	require.Equal(t, map[string]Time{
		"quick": {time.Millisecond, time.Millisecond, "plain"},
		"slow":  {time.Second, time.Second, "plain"},
		"floor": {10, 10, "plain"},
	}, out.Times)
	require.Equal(t, map[string]string{
		"wrong": "answers [4 1e+09], and quick [3 1e+09]", "broken": "broke", "none": ErrCannot.Error(),
	}, out.Missing)
	for _, f := range []*fake{quick, slow, wrong, broken, floor} {
		require.Equal(t, 1, f.closed)
	}
}

func TestRunTakesTurns(t *testing.T) {
	var runs []time.Duration
	s := Settings{Rounds: 3, Sample: time.Second, Limit: time.Hour}
	Run(s, []Entry{entry("a", &fake{each: time.Second, runs: &runs}), entry("b", &fake{each: 2 * time.Second, runs: &runs})})
	last := runs[len(runs)-12:] // one to fill the caches, one to measure
	require.Equal(t, []time.Duration{1e9, 1e9, 2e9, 2e9, 1e9, 1e9, 2e9, 2e9, 1e9, 1e9, 2e9, 2e9}, last)
}
