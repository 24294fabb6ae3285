//go:build linux

package emulator

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kernelCase is one paragraph of a file in testdata:
//
//	// name
//	// grid THREADGROUPS THREADS          (of cases that run)
//	// want PART | PART ...               (nothing: no violation)
//	MSL
type kernelCase struct {
	name            string
	groups, threads int
	parts           []string // of the violation or the compiler's message
	body            string
}

func readCases(t *testing.T, file string) (cases []kernelCase) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		var c kernelCase
		lines := strings.Split(paragraph, "\n")
		c.name = strings.TrimPrefix(lines[0], "// ")
		for lines = lines[1:]; strings.HasPrefix(lines[0], "// "); lines = lines[1:] {
			key, value, _ := strings.Cut(strings.TrimPrefix(lines[0], "// "), " ")
			switch key {
			case "grid":
				_, err = fmt.Sscan(value, &c.groups, &c.threads)
			case "want":
				c.parts = strings.Split(value, " | ")
			default:
				err = fmt.Errorf("no key %q", key)
			}
			if err != nil {
				t.Fatalf("%s: %s: %v", file, c.name, err)
			}
		}
		c.body = strings.Join(lines, "\n")
		cases = append(cases, c)
	}
	return cases
}
