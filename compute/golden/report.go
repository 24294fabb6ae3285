package golden

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"sort"
)

// Tally counts outcomes, indexed by Outcome.
type Tally [3]int

func (t Tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d unsupported", t[Passed], t[Failed], t[Unsupported])
}

// Report runs the cases of a folder whose function matches the pattern, writes
// a line "name passed/failed/unsupported" a function and the total as the last
// line, and returns the total. With verbose set each case that did not pass is
// written too, with what was got and wanted.
func Report(ctx context.Context, out io.Writer, run Runner, dir fs.FS, pattern *regexp.Regexp, verbose bool) (Tally, error) {
	var total Tally
	functions := map[string]*Tally{}
	err := Each(dir, func(c *Case) error {
		if !pattern.MatchString(c.Function) {
			return nil
		}
		outcome, why := run(ctx, c)
		if functions[c.Function] == nil {
			functions[c.Function] = new(Tally)
		}
		functions[c.Function][outcome]++
		total[outcome]++
		if verbose && outcome != Passed && names[c.Function] != "" {
			word := map[Outcome]string{Failed: "FAILED", Unsupported: "unsupported"}[outcome]
			if _, err := fmt.Fprintf(out, "%s %s %s: %v\n", word, c.ID, c.Options, why); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return total, err
	}
	order := make([]string, 0, len(functions))
	for name := range functions {
		order = append(order, name)
	}
	sort.Strings(order)
	for _, name := range order {
		t := functions[name]
		if _, err := fmt.Fprintf(out, "%s %d/%d/%d\n", name, t[Passed], t[Failed], t[Unsupported]); err != nil {
			return total, err
		}
	}
	_, err = fmt.Fprintln(out, total)
	return total, err
}
