//go:build (linux || (darwin && !nogpu)) && (amd64 || arm64)

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal"
)

// partLimit ends a part of the self-check that hangs.
const partLimit = 20 * time.Minute

// selfReport is what doctor --metal prints.
type selfReport struct {
	Program  program         `json:"program"`
	Machine  machine         `json:"machine"`
	Emulated bool            `json:"emulated"`
	Quick    bool            `json:"quick"`
	Earlier  *metal.Verdict  `json:"earlier,omitempty"` // an earlier verdict on this machine
	Verdict  metal.Verdict   `json:"verdict"`
	Stored   string          `json:"stored,omitempty"` // the file that keeps it
	Findings []metal.Finding `json:"findings"`
}

// runSelfCheck checks Metal and prints a report. Each part runs in a process of its own: where Metal is not as expected an
// Objective-C exception ends it, which then is a finding.
func runSelfCheck(ctx context.Context, out, progress io.Writer, quick, asJSON bool) error {
	r := &selfReport{Program: examineProgram(), Machine: examineMachine(), Emulated: metalDriver == emulatorName, Quick: quick}
	dev, err := gpu.Open(metalDriver)
	if err != nil {
		return fmt.Errorf("doctor --metal: %w", err)
	}
	name := dev.Info().Name
	version := versionOf(r.Program)
	if v, found := metal.LoadVerdict(name, metalDriver, version); found {
		r.Earlier = &v
	}
	for _, p := range checkParts {
		fmt.Fprintf(progress, "checking %s ...\n", p.what)
		start := time.Now()
		found := r.part(ctx, p, quick)
		if err := ctx.Err(); err != nil {
			return err
		}
		r.Findings = append(r.Findings, found...)
		fmt.Fprintf(progress, "  %s in %s\n", plural(len(found), "finding"), timed(time.Since(start)))
	}
	r.Verdict = metal.NewVerdict(name, metalDriver, version, r.Findings)
	if !quick {
		if r.Stored, err = r.Verdict.Store(); err != nil {
			fmt.Fprintf(progress, "the verdict is not kept: %v\n", err)
		}
	}
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(r)
	} else {
		err = r.print(out)
	}
	if err == nil && !r.Verdict.OK {
		return errBroken
	}
	return err
}

// part runs one part in a process of its own. A process that does not end well is a finding.
func (r *selfReport) part(ctx context.Context, p checkPart, quick bool) []metal.Finding {
	program, err := os.Executable()
	if err != nil {
		return []metal.Finding{{Part: p.name, Name: "process", Detail: err.Error()}}
	}
	limited, cancel := context.WithTimeout(ctx, partLimit)
	defer cancel()
	cmd := exec.CommandContext(limited, program, "doctor", "--metal", "--part", p.name, fmt.Sprintf("--quick=%t", quick))
	cmd.WaitDelay = time.Second
	var said, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complaints
	err = cmd.Run()
	found := p.read(&said)
	if limited.Err() != nil {
		err = fmt.Errorf("it did not end in %s", partLimit)
	}
	if err != nil {
		found = append(found, metal.Finding{Part: p.name, Name: "process", Detail: fmt.Sprintf("%v\n%s", err, lastLines(complaints.String(), 40))})
	}
	if len(found) == 0 {
		found = append(found, metal.Finding{Part: p.name, Name: "process", Detail: "it found nothing"})
	}
	return found
}

// readFindings reads what a part wrote, up to where it may have died.
func readFindings(out io.Reader) (found []metal.Finding) {
	for dec := json.NewDecoder(out); ; {
		var f metal.Finding
		if dec.Decode(&f) != nil {
			return found
		}
		found = append(found, f)
	}
}

// readSuite reads the output of package gputest's tests: one finding, and one for each test that failed.
func readSuite(out io.Reader) (found []metal.Finding) {
	passed, failed := 0, 0
	var log []string
	for s := bufio.NewScanner(out); s.Scan(); {
		line := s.Text()
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, _, _ := strings.Cut(strings.TrimPrefix(rest, "PASS: "), " (")
		switch {
		case word == "---" && strings.HasPrefix(rest, "PASS: ") && strings.Contains(name, "/"):
			passed++
		case word == "---" && strings.HasPrefix(rest, "FAIL: "):
			failed++
			log = append(log, line)
		case word != "===" && word != "---":
			log = append(log, line)
		}
	}
	f := metal.Finding{Part: "suite", Name: "tests of package gputest", OK: failed == 0 && passed > 0, Detail: plural(passed, "test") + " passed"}
	if !f.OK {
		f.Detail += "\n" + lastLines(strings.Join(log, "\n"), 60)
	}
	return []metal.Finding{f}
}

// lastLines is the end of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// adviseSelfCheck asks for a self-check where a GPU is used that none was made on.
func adviseSelfCheck(r *report) []advice {
	if r.Chosen.Driver != metalDriver || metalDriver == emulatorName {
		return nil
	}
	var model string
	for _, d := range r.Devices {
		if d.Name == r.Chosen.Device {
			model = d.Model
		}
	}
	v, found := metal.LoadVerdict(model, metalDriver, versionOf(r.Program))
	switch {
	case !found:
		return []advice{{"a self-check of Metal on this machine: the driver was written without a Mac", "go run ./bench doctor --metal"}}
	case !v.OK:
		return []advice{{"a good self-check of Metal: " + strings.Join(v.Failed, "; "), reportHow}}
	}
	return nil
}

// versionOf is what a verdict holds for, of this module.
func versionOf(p program) string {
	if p.Revision != "" {
		return p.Version + " " + p.Revision
	}
	return p.Version
}
