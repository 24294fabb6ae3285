package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// introduce says what is going to be measured.
func (q *request) introduce(w io.Writer) error {
	var out bytes.Buffer
	where := "memory of memory.New"
	if q.foreign {
		where = "memory of arrow-go's default allocator"
	}
	fmt.Fprintf(&out, "columns of %s without nulls, %s to %s rows, in %s\n", q.typ.Name(), grouped(rowsMin), grouped(int64(q.rowsMax)), where)
	fmt.Fprintf(&out, "cpu: %s/%s, GOMAXPROCS %d\n", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	switch {
	case q.onlyCPU():
		fmt.Fprintf(&out, "no device, so only the CPU is measured: %s\n", strings.ReplaceAll(q.cpuOnly, "\n", "; "))
	case q.emulated():
		fmt.Fprintf(&out, "\n*** %s ***\n%s\n", emulatorWarning, emulatorExplanation)
	default:
		fmt.Fprintf(&out, "gpu: %s (%s)\n", q.model, q.driver)
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

// tabulate prints a table for each function, and the crossovers.
func (q *request) tabulate(w io.Writer, all []series) error {
	var out bytes.Buffer
	for i := range all {
		s := &all[i]
		fmt.Fprintf(&out, "%s(%s)", s.work.function, q.typ.Name())
		if q.emulated() {
			fmt.Fprintf(&out, "   *** %s ***", emulatorWarning)
		}
		out.WriteByte('\n')
		printRows(&out, q.rows(s))
		fmt.Fprintf(&out, "  crossover: %s\n\n", s.verdict(q.driver))
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (q *request) rows(s *series) [][]string {
	if q.onlyCPU() {
		table := [][]string{{"rows", "cpu", "ns a row"}}
		for _, p := range s.points {
			table = append(table, []string{grouped(int64(p.rows)), timed(p.cpu), fmt.Sprintf("%.3f", float64(p.cpu)/float64(p.rows))})
		}
		return table
	}
	table := [][]string{{"rows", "cpu", q.driver, "cpu/" + q.driver, "winner"}}
	for _, p := range s.points {
		row := []string{grouped(int64(p.rows)), timed(p.cpu), "-", "-", "-"}
		if p.gpu > 0 {
			winner := cpuName
			if p.gpu < p.cpu {
				winner = q.driver
			}
			row = append(row[:2], timed(p.gpu), fmt.Sprintf("%.3g", float64(p.cpu)/float64(p.gpu)), winner)
		}
		table = append(table, row)
	}
	return table
}
