// Package latency measures what a small call costs on a device, stage by stage, and what makes it cost less.
package latency

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Report is one run of all tables.
type Report struct {
	Device  string   `json:"device"`
	Driver  string   `json:"driver"`
	Machine string   `json:"machine"`
	Warning string   `json:"warning,omitempty"`
	Tables  []*Table `json:"tables"`
}

// Table is one table: rows of a label and numbers.
type Table struct {
	Name string   `json:"name"`
	Note string   `json:"note"`
	Head []string `json:"head"` // of the labels, then of each number
	Rows []Row    `json:"rows"`
}

// Row is a label and numbers; what could not be had is missing.
type Row struct {
	Label  string   `json:"label"`
	Values []Number `json:"values"`
	Text   string   `json:"text,omitempty"` // instead of numbers
}

// Number is a measured value; NaN is a missing one, null in JSON.
type Number float64

// MarshalJSON writes three decimals, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'f', 3, 64), nil
}

func (n Number) String() string {
	if math.IsNaN(float64(n)) {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'f', 2, 64)
}

var missing = Number(math.NaN())

// add adds a row.
func (t *Table) add(label string, values ...Number) {
	t.Rows = append(t.Rows, Row{Label: label, Values: values})
}

// JSON writes the report for programs.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Markdown writes the report for people.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Latency on %s\n\nDriver %s; %s. Times in microseconds.\n", r.Device, r.Driver, r.Machine)
	if r.Warning != "" {
		fmt.Fprintf(&b, "\n%s\n", r.Warning)
	}
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n## %s\n\n", t.Name)
		if t.Note != "" {
			fmt.Fprintf(&b, "%s\n\n", t.Note)
		}
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
		for _, row := range t.Rows {
			cells := []string{row.Label}
			if row.Text != "" {
				cells = append(cells, row.Text)
			}
			for _, v := range row.Values {
				cells = append(cells, v.String())
			}
			for len(cells) < len(t.Head) {
				cells = append(cells, "")
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
