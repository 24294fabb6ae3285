// Package report keeps the outcomes of races, as JSON, tables and plots.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/broadhead-go/broadhead/bench/peers/race"
)

// Row is one case and its outcome.
type Row struct {
	Op    string `json:"op"`
	Type  string `json:"type"`
	Rows  int    `json:"rows"`
	Nulls bool   `json:"nulls"`
	Bytes int64  `json:"bytes"`
	race.Outcome
}

// Report is what was measured, where and with what.
type Report struct {
	Machine  string            `json:"machine"`
	Command  string            `json:"command"`
	Date     string            `json:"date"`
	Versions map[string]string `json:"versions"`
	Notes    map[string]string `json:"notes"` // by operation
	Missing  map[string]string `json:"missing_engines,omitempty"`
	Rows     []Row             `json:"results"`
}

// The engines that tables have columns for.
const (
	Ours     = "Broadhead"
	OursOnGo = "Broadhead, Go allocator"
	Floor1   = "floor 1t"
	Floor2   = "floor 2t"
)

var (
	peers = []string{"arrow-go", "DuckDB", "Polars"}
	// Columns is the order of engines in tables.
	Columns = slices.Concat([]string{Ours, OursOnGo}, peers, []string{Floor1, Floor2})
)

// Add puts rows in, in place of earlier ones of the same cases.
func (r *Report) Add(rows ...Row) {
	for _, row := range rows {
		if old := r.find(&row); old != nil {
			*old = row
		} else {
			r.Rows = append(r.Rows, row)
		}
	}
}

// find is the row of a case; nil if there is none.
func (r *Report) find(c *Row) *Row {
	at := slices.IndexFunc(r.Rows, func(o Row) bool {
		return o.Op == c.Op && o.Type == c.Type && o.Rows == c.Rows && o.Nulls == c.Nulls
	})
	if at < 0 {
		return nil
	}
	return &r.Rows[at]
}

// Sort orders rows by size, then by the operations in the given order.
func (r *Report) Sort(ops []string) {
	nulls := map[bool]int{true: 1}
	slices.SortStableFunc(r.Rows, func(a, b Row) int {
		for _, d := range []int{b.Rows - a.Rows, slices.Index(ops, a.Op) - slices.Index(ops, b.Op),
			strings.Compare(a.Type, b.Type), nulls[a.Nulls] - nulls[b.Nulls]} {
			if d != 0 {
				return d
			}
		}
		return 0
	})
}

// Load reads a report. One that is not there is empty.
func Load(path string) (*Report, error) {
	r := new(Report)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Save writes the report.
func (r *Report) Save(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// BestPeer is the fastest of the peers; "" where there is none.
func (row *Row) BestPeer() (name string, best time.Duration) {
	for _, p := range peers {
		if t, ok := row.Times[p]; ok && (name == "" || t.Median < best) {
			name, best = p, t.Median
		}
	}
	return name, best
}

// Ratio is ours to the best peer's time, and to the floor with two threads; 0 where there is none.
func (row *Row) Ratio() (peer, floor float64) {
	our, ok := row.Times[Ours]
	if !ok {
		return 0, 0
	}
	if name, best := row.BestPeer(); name != "" {
		peer = float64(our.Median) / float64(best)
	}
	if f, ok := row.Times[Floor2]; ok {
		floor = float64(our.Median) / float64(f.Median)
	}
	return peer, floor
}
