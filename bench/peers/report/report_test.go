package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/bench/peers/race"
)

func row(op string, rows int, nulls bool, times map[string]time.Duration) Row {
	o := race.Outcome{Times: map[string]race.Time{}, Missing: map[string]string{"DuckDB": race.ErrCannot.Error(), "Polars": "answers 3"}}
	for name, d := range times {
		o.Times[name] = race.Time{Median: d, Min: d / 2}
	}
	return Row{Op: op, Type: "int64", Rows: rows, Nulls: nulls, Outcome: o}
}

func TestReport(t *testing.T) {
	r := &Report{Machine: "one", Missing: map[string]string{"Polars": "node is not installed"}}
	ms := time.Millisecond
	r.Add(row("sum", 10_000_000, true, map[string]time.Duration{Ours: 99 * ms}))
	r.Add(row("add", 10_000_000, false, map[string]time.Duration{Ours: 3 * ms, "arrow-go": 2 * ms, Floor2: 4 * ms}))
	r.Add(row("sum", 1000, false, map[string]time.Duration{Ours: ms / 2, "arrow-go": ms}))
	r.Add(row("sum", 10_000_000, true, map[string]time.Duration{Ours: ms, "arrow-go": 2 * ms, Floor2: ms}))
	r.Sort([]string{"sum", "add"})
	require.Len(t, r.Rows, 3)
	require.Equal(t, []int{10_000_000, 1000}, r.Sizes())

	var b strings.Builder
	r.Markdown(&b)
	for _, line := range []string{
		"| Polars | **missing**: node is not installed |",
		"## 10,000,000 rows",
		"| sum | int64 | 10% | 1 (0.5) | - | 2 (1) | - | - | - | 1 (0.5) | arrow-go | 0.50 | 1.00 |  |",
		"| add | int64 | - | 3 (1.5) | - | 2 (1) | - | - | - | 4 (2) | arrow-go | 1.50 | 0.75 | **loss** |",
		"- Polars, sum of int64: answers 3",
	} {
		require.Contains(t, b.String(), line+"\n")
	}
	require.NotContains(t, b.String(), race.ErrCannot.Error())

	var c strings.Builder
	r.Compare(&c, &Report{Rows: []Row{row("sum", 10_000_000, true, map[string]time.Duration{Ours: 6 * ms, "arrow-go": 2 * ms, Floor2: 2 * ms})}}, 10_000_000)
	require.Contains(t, c.String(), "\n| sum | int64 | 10% | 6 | 1 | arrow-go | 3.00 | 0.50 | 3.00 | 1.00 |\n")
	require.NotContains(t, c.String(), "| add |", "not measured before")

	path := filepath.Join(t.TempDir(), "r.json")
	empty, err := Load(path)
	require.NoError(t, err)
	require.Empty(t, empty.Rows)
	require.NoError(t, r.Save(path))
	again, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, r, again)

	svg := filepath.Join(t.TempDir(), "r.svg")
	require.NoError(t, r.Plot(svg, 10_000_000))
	text, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.Contains(t, string(text), "10,000,000 rows")
	require.Contains(t, string(text), "add int64")
	require.NoError(t, r.Plot(filepath.Join(t.TempDir(), "none.svg"), 1000), "no floor: nothing to draw")
}
