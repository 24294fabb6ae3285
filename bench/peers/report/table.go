package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/broadhead-go/broadhead/bench/peers/race"
)

// Table writes the rows of one size as markdown: median (least) in milliseconds, and what ours is to others.
func (r *Report) Table(w io.Writer, rows int) {
	fmt.Fprintf(w, "| op | type | nulls | %s | best peer | ours/peer | ours/floor | |\n|---|---|---|%s---|---|---|---|\n",
		strings.Join(Columns, " | "), strings.Repeat("---|", len(Columns)))
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Rows != rows {
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %s |", row.Op, row.Type, nulls(row.Nulls))
		for _, c := range Columns {
			fmt.Fprintf(w, " %s |", row.cell(c))
		}
		name, _ := row.BestPeer()
		peer, floor := row.Ratio()
		fmt.Fprintf(w, " %s | %s | %s | %s |\n", orDash(name), ratio(peer), ratio(floor), row.verdict())
	}
}

func (row *Row) cell(engine string) string {
	t, ok := row.Times[engine]
	if !ok {
		return "-"
	}
	s := fmt.Sprintf("%s (%s)", Millis(t.Median), Millis(t.Min))
	if t.Variant != "" && t.Variant != "streaming stores" {
		s += " " + t.Variant
	}
	return s
}

// verdict says in a word where ours is behind.
func (row *Row) verdict() string {
	if why := row.Missing[Ours]; why != "" {
		return "**no answer**: " + why
	}
	if peer, _ := row.Ratio(); peer > 1 {
		return "**loss**"
	}
	return ""
}

// Millis is a time in milliseconds with three digits that count.
func Millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 3, 64)
}

func ratio(f float64) string {
	if f == 0 {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Compare writes what ours is to the best peer and to the floor now and in an earlier report, for the rows of one size.
func (r *Report) Compare(w io.Writer, before *Report, rows int) {
	fmt.Fprint(w, "| op | type | nulls | ms before | ms now | best peer | ours/peer before | now | ours/floor before | now |\n"+
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range r.Rows {
		row := &r.Rows[i]
		old := before.find(row)
		if row.Rows != rows || old == nil {
			continue
		}
		name, _ := row.BestPeer()
		peer, floor := row.Ratio()
		oldPeer, oldFloor := old.Ratio()
		lost := ""
		if peer > 1 {
			lost = " **loss**"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s%s | %s | %s |\n", row.Op, row.Type, nulls(row.Nulls),
			Millis(old.Times[Ours].Median), Millis(row.Times[Ours].Median), orDash(name), ratio(oldPeer), ratio(peer), lost,
			ratio(oldFloor), ratio(floor))
	}
}

func nulls(b bool) string {
	if b {
		return "10%"
	}
	return "-"
}

// Sizes lists the numbers of rows, the largest first.
func (r *Report) Sizes() (list []int) {
	for _, row := range r.Rows {
		if !slices.Contains(list, row.Rows) {
			list = append(list, row.Rows)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// Markdown writes everything.
func (r *Report) Markdown(w io.Writer) {
	fmt.Fprintf(w, "# Broadhead and its peers on a CPU\n\n| | |\n|---|---|\n| machine | %s |\n| date | %s |\n| command | `%s` |\n",
		r.Machine, r.Date, r.Command)
	for _, c := range Columns {
		if v := r.Versions[c]; v != "" {
			fmt.Fprintf(w, "| %s | %s |\n", c, v)
		}
		if why := r.Missing[c]; why != "" {
			fmt.Fprintf(w, "| %s | **missing**: %s |\n", c, strings.ReplaceAll(why, "\n", " "))
		}
	}
	fmt.Fprint(w, "\nMilliseconds, `median (least)` of samples for which the engines took turns. The floors read and write the operation's\n"+
		"bytes on huge pages and do nothing else, with one and two threads; `ours` is Broadhead with its own allocator.\n\n")
	for _, op := range sortedKeys(r.Notes) {
		fmt.Fprintf(w, "- %s: %s\n", op, r.Notes[op])
	}
	for _, n := range r.Sizes() {
		fmt.Fprintf(w, "\n## %s rows\n\n", grouped(n))
		r.Table(w, n)
	}
	r.refusals(w)
}

// refusals lists what engines could not do, but for operations that they do not have.
func (r *Report) refusals(w io.Writer) {
	seen := map[string]bool{}
	for _, row := range r.Rows {
		for _, c := range sortedKeys(row.Missing) {
			if row.Missing[c] == race.ErrCannot.Error() {
				continue
			}
			line := fmt.Sprintf("- %s, %s of %s: %s\n", c, row.Op, row.Type, row.Missing[c])
			if !seen[line] {
				if len(seen) == 0 {
					fmt.Fprint(w, "\n## Without a time\n\n")
				}
				seen[line] = true
				fmt.Fprint(w, line)
			}
		}
	}
}

func sortedKeys(m map[string]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// grouped writes a number with commas between its thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
