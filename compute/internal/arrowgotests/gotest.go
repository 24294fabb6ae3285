package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action string
	Test   string
	Output string
}

// goTest runs the tests and counts them, subtests included.
func goTest(ctx context.Context, temp string, c config) (passed, failed int, err error) {
	cmd := exec.CommandContext(ctx, "go", testArgs(c)...)
	cmd.Dir = filepath.Join(temp, "arrow-go")
	// The go.work file must rule whatever the caller's environment says.
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(temp, "go.work"), "GOFLAGS=", "PWD="+cmd.Dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	passed, failed, err = count(stdout, c.verbose)
	if werr := cmd.Wait(); err == nil && failed == 0 {
		err = werr // a build failure or a crash has no failed test of its own
	}
	if err == nil && passed == 0 && failed == 0 {
		err = errors.New("no tests ran")
	}
	return passed, failed, err
}

func testArgs(c config) []string {
	// Without -trimpath the temporary folder's name would defeat the build cache.
	args := []string{"test", "-json", "-trimpath", "-vet=off", "-timeout=9m"}
	if c.run != "" {
		args = append(args, "-run", c.run)
	}
	if len(exclusions) > 0 {
		var skip []string
		for _, e := range exclusions {
			skip = append(skip, e.test)
		}
		args = append(args, "-skip", strings.Join(skip, "|"))
	}
	return append(args, "./"+testFolder)
}

// count reads the events. The output of a test is printed when it fails, or as
// it comes if verbose; output of no test (a compiler's, a panic's) always is.
func count(events io.Reader, verbose bool) (passed, failed int, err error) {
	outputs, skipped := map[string]*strings.Builder{}, 0
	for dec := json.NewDecoder(events); ; {
		var e event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return passed, failed, fmt.Errorf("go test -json: %w", err)
		}
		switch {
		case e.Action == "output" || e.Action == "build-output":
			if verbose || e.Test == "" {
				fmt.Print(e.Output)
				continue
			}
			if outputs[e.Test] == nil {
				outputs[e.Test] = new(strings.Builder)
			}
			outputs[e.Test].WriteString(e.Output)
		case e.Test == "":
		case e.Action == "pass":
			passed++
			delete(outputs, e.Test)
		case e.Action == "fail":
			failed++
			if out := outputs[e.Test]; out != nil {
				fmt.Print(out)
			}
			delete(outputs, e.Test)
		case e.Action == "skip":
			skipped++
			delete(outputs, e.Test)
		}
	}
	if skipped > 0 {
		fmt.Printf("%d skipped by arrow-go's tests themselves\n", skipped)
	}
	// A crash leaves tests without a verdict: their output says why.
	for test, out := range outputs {
		fmt.Printf("no verdict for %s:\n%s", test, out)
	}
	return passed, failed, nil
}
