package gpu

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of devices. Drivers wrap them; use errors.Is.
var (
	ErrNoDevice    = errors.New("gpu: no device")
	ErrOutOfMemory = errors.New("gpu: out of memory")
	ErrUnaligned   = errors.New("gpu: memory is not page-aligned")
	ErrUnsupported = errors.New("gpu: not supported by this device")
	ErrCompile     = errors.New("gpu: kernel does not compile")
	ErrCommand     = errors.New("gpu: command failed")
	ErrDeviceLost  = errors.New("gpu: device lost")
	ErrTimeout     = errors.New("gpu: timeout")
	ErrClosed      = errors.New("gpu: use after close")
)

// CompileError is a kernel that did not compile. errors.Is(err, ErrCompile) holds.
type CompileError struct {
	Kernel string // the kernel's name
	Log    string // the compiler's own words
	Line   int    // first line of Text that the log names, from 1; 0 when it names none
	Source string // that line
}

func (e *CompileError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s", ErrCompile, e.Kernel)
	if e.Line > 0 {
		fmt.Fprintf(&b, " line %d `%s`", e.Line, strings.TrimSpace(e.Source))
	}
	fmt.Fprintf(&b, ": %s", strings.TrimSpace(e.Log))
	return b.String()
}

// Unwrap makes errors.Is(err, ErrCompile) true.
func (e *CompileError) Unwrap() error { return ErrCompile }

// CommandError is work that the device reported as failed. errors.Is(err, ErrCommand) holds.
type CommandError struct {
	Log string // the driver's own words
}

func (e *CommandError) Error() string { return fmt.Sprintf("%v: %s", ErrCommand, e.Log) }

// Unwrap makes errors.Is(err, ErrCommand) true.
func (e *CommandError) Unwrap() error { return ErrCommand }
