// Package compilelog reads what kernel compilers print.
package compilelog

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/broadhead-go/broadhead/gpu"
)

// Error finds the line of the text that the log blames: the first with an error, else the first it names. A match of at
// has the line's number as its first group and, for an error, a second group.
func Error(src gpu.Source, log string, at *regexp.Regexp) *gpu.CompileError {
	e := &gpu.CompileError{Kernel: src.Name, Log: log}
	for _, m := range at.FindAllStringSubmatch(log, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || (e.Line != 0 && m[2] == "") {
			continue
		}
		e.Line = n
		if m[2] != "" {
			break
		}
	}
	if lines := strings.Split(src.Text, "\n"); e.Line >= 1 && e.Line <= len(lines) {
		e.Source = lines[e.Line-1]
	}
	return e
}
