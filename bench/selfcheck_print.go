//go:build (linux || (darwin && !nogpu)) && (amd64 || arm64)

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/broadhead-go/broadhead/gpu/metal"
)

// print writes the report for people, in a form to paste into an issue.
func (r *selfReport) print(w io.Writer) error {
	var out bytes.Buffer
	out.WriteString("```\n")
	title := "Broadhead: self-check of Metal"
	if r.Emulated {
		title += ", on the emulator: this says nothing about a Mac"
	}
	if r.Quick {
		title += ", quick: a sample only"
	}
	fmt.Fprintln(&out, title)
	for _, part := range []section{printProgram(&report{Program: r.Program}), printMachine(&report{Machine: r.Machine})} {
		printRows(&out, part.rows)
	}
	printRows(&out, [][]string{{"OS build", r.Verdict.System}, {"GPU", r.Verdict.GPU}})
	if v := r.Earlier; v != nil {
		fmt.Fprintf(&out, "  an earlier self-check, of %s: %s\n", v.When.Format("2006-01-02 15:04 MST"), judged(v.OK))
	}
	for rest := r.Findings; len(rest) > 0; {
		part := rest[0].Part
		var rows [][]string
		for len(rest) > 0 && rest[0].Part == part {
			rows = append(rows, findingRow(rest[0]))
			rest = rest[1:]
		}
		fmt.Fprintf(&out, "\n%s\n", part)
		printRows(&out, rows)
	}
	fmt.Fprintf(&out, "\nverdict: %s\n", judged(r.Verdict.OK))
	for _, f := range r.Verdict.Failed {
		fmt.Fprintf(&out, "  - %s\n", strings.ReplaceAll(f, "\n", "\n    "))
	}
	out.WriteString("```\n")
	if r.Stored != "" {
		fmt.Fprintf(&out, "The verdict is kept in %s until the system, the GPU or this module changes.\n", r.Stored)
	}
	if !r.Emulated {
		fmt.Fprintf(&out, "Please paste the lines between the ``` into an issue of %s: this code was written without a Mac.\n", modulePath)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// findingRow is a finding in the table. What is wrong stands at the end in full.
func findingRow(f metal.Finding) []string {
	first, _, _ := strings.Cut(f.Detail, "\n")
	mark := "ok"
	if !f.OK {
		mark = "WRONG"
	}
	return []string{mark, f.Name, first}
}

func judged(ok bool) string {
	if ok {
		return "good"
	}
	return "NOT GOOD"
}
