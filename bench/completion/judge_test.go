//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// good are the windows of a run in which A shows the effect and D meets every criterion.
func good() (all []*window) {
	for _, w := range plan(1) {
		leg := int64(50) // microseconds
		if w.Config == "A" && w.Cell == matrix {
			leg = 20_000
		}
		w.Seconds, w.GCStop, w.CPU = 20, 0.2, 10
		if w.Cell != soloSecond {
			w.GPU = new(requests)
			for i := range int64(1200) {
				at := i * 30_000
				for j, column := range []*[]int64{&w.GPU.Arrival, &w.GPU.Submit, &w.GPU.Dispatch, &w.GPU.Start, &w.GPU.End} {
					*column = append(*column, at+int64(j)*1000)
				}
				for _, column := range []*[]int64{&w.GPU.Observed, &w.GPU.Unpacked, &w.GPU.Delivered, &w.GPU.Received} {
					*column = append(*column, at+4000+leg)
				}
			}
		}
		for range w.Loads {
			r := requests{}
			for i := range int64(1000) {
				r.Submit, r.Start = append(r.Submit, i*10_000), append(r.Start, i*10_000)
				r.End, r.Received = append(r.End, i*10_000+9_000), append(r.Received, i*10_000+9_000)
			}
			w.Second = append(w.Second, r)
		}
		all = append(all, w)
	}
	return all
}

// TestVerdict spoils a good run in every way that a criterion names, and must hear of it.
func TestVerdict(t *testing.T) {
	k, err := loadCriteria()
	require.NoError(t, err)
	v := k.judge(cellsOf(good()))
	require.Equal(t, "met", v.Verdict, "%+v", v)

	late := func(by int64) func(*window) {
		return func(w *window) {
			if w.Config == "D" && w.GPU != nil {
				for i := range w.GPU.Received {
					w.GPU.Received[i] += by
				}
			}
		}
	}
	for name, row := range map[string]struct {
		spoil func(*window)
		want  string
	}{
		"late": {late(600), "not met"},
		"late now and then": {func(w *window) {
			if w.Config == "D" && w.GPU != nil {
				for i := 0; i < len(w.GPU.Received); i += 15 {
					w.GPU.Received[i] += 3_000
				}
			}
		}, "not met"},
		"no effect": {func(w *window) {
			if w.Config == "A" && w.GPU != nil {
				w.GPU.Received = slices.Clone(w.GPU.End)
			}
		}, "inconclusive"},
		"a slower device": {func(w *window) {
			if w.Config == "D" && w.GPU != nil {
				for i := range w.GPU.Start {
					w.GPU.Start[i] -= 100
				}
			}
		}, "not met"},
		"less throughput": {func(w *window) {
			if w.Config == "D" && len(w.Second) > 0 {
				for _, c := range w.Second[0].columns(false) {
					*c = (*c)[:900]
				}
			}
		}, "not met"},
		"a tail": {func(w *window) {
			if w.Config == "D" && len(w.Second) > 0 {
				for i := 0; i < 1000; i += 50 {
					w.Second[0].Received[i] += 1_000
				}
			}
		}, "not met"},
		"more CPU": {func(w *window) {
			if w.Config == "D" {
				w.CPU *= 1.2
			}
		}, "not met"},
		"a long stop": {func(w *window) {
			if w.Config == "D" {
				w.GCStop = 1.5
			}
		}, "not met"},
		"wrong answers": {func(w *window) {
			if w.Config == "B" && w.Loads > 0 {
				w.Second[0].Mismatches = 1
			}
		}, "not met"},
		"busy machine": {func(w *window) { w.Others = 0.5 }, "inconclusive"},
		"stamps": {func(w *window) {
			if w.GPU != nil {
				w.GPU.Observed[3] = w.GPU.End[3] - 100
			}
		}, "inconclusive"},
		"few requests": {func(w *window) {
			if w.GPU != nil {
				for _, c := range w.GPU.columns(true) {
					*c = (*c)[:50]
				}
			}
		}, "inconclusive"},
	} {
		all := good()
		for _, w := range all {
			row.spoil(w)
		}
		require.Equal(t, row.want, k.judge(cellsOf(all)).Verdict, name)
	}
	all := good()
	require.Equal(t, "inconclusive", k.judge(cellsOf(all[:len(all)-1])).Verdict, "a cell is missing")
	require.Equal(t, "inconclusive", k.judge(nil).Verdict)
}

func TestPercentile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for p, want := range map[float64]float64{0: 1, 20: 1, 21: 2, 50: 3, 99: 5, 100: 5} {
		require.Equal(t, want, percentile(values, p), p)
	}
	require.Zero(t, percentile(nil, 50))
	require.Equal(t, quantity{5, 3, 3, 5, 5}, quantityOf(values))
}

// TestSchedule: one seed gives one schedule, at about its rate.
func TestSchedule(t *testing.T) {
	due, hash := schedule(100, 100*time.Second, 1)
	again, same := schedule(100, 100*time.Second, 1)
	require.Equal(t, due, again)
	require.Equal(t, hash, same)
	require.InDelta(t, 10_000, len(due), 500)
	require.True(t, slices.IsSorted(due))
	_, other := schedule(100, 100*time.Second, 2)
	require.NotEqual(t, hash, other)
}

// TestRawFile: what a file cannot be is said, and windows before a cut are not lost silently.
func TestRawFile(t *testing.T) {
	raw := rawFile{t.TempDir() + "/raw"}
	_, _, err := raw.read()
	require.Error(t, err)
	require.NoError(t, raw.add(header{Device: "d"}))
	require.NoError(t, raw.add(&window{Config: "A", Cell: matrix}))
	h, all, err := raw.read()
	require.NoError(t, err)
	require.Equal(t, "d", h.Device)
	require.Equal(t, "/matrix/A/0", all[0].key())
	require.NoError(t, raw.add(&window{GPU: &requests{Submit: []int64{1}}}))
	_, _, err = raw.read()
	require.ErrorContains(t, err, "columns of 1 and 0 rows")
	truncate(t, raw.path, 5)
	_, all, err = raw.read()
	require.Error(t, err)
	require.Len(t, all, 1)
}

func truncate(t *testing.T, path string, by int64) {
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()-by))
}

// TestClockDrift: a device whose clock starts elsewhere and runs faster is understood.
func TestClockDrift(t *testing.T) {
	device := func(host time.Duration) time.Duration { return time.Hour + host + host/10_000 }
	rows := []stamps{{start: device(3 * time.Second), end: device(4 * time.Second)}}
	toHost(rows, tie{device(time.Second), time.Second}, tie{device(9 * time.Second), 9 * time.Second})
	require.InDelta(t, 3*time.Second, rows[0].start, 10)
	require.InDelta(t, 4*time.Second, rows[0].end, 10)
}

// TestCommittedResults: the tables in the repository follow from the raw files beside them.
func TestCommittedResults(t *testing.T) {
	folders, err := filepath.Glob("../results/completion-*")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		_, err := analyze(folder, true)
		require.NoError(t, err)
	}
}
