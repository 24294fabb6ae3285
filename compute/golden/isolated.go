package golden

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// reply is a worker's answer to one case.
type reply struct {
	Outcome Outcome
	Why     string
}

// Serve runs the cases that it reads, one JSON object a line, and writes a
// reply a line: the worker's side of Isolated.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	cases := json.NewDecoder(bufio.NewReader(in))
	replies := json.NewEncoder(out)
	for {
		var c Case
		if err := cases.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r := reply{}
		var err error
		if r.Outcome, err = Run(ctx, &c); err != nil {
			r.Why = err.Error()
		}
		if err := replies.Encode(r); err != nil {
			return err
		}
	}
}

// Isolated runs cases in a child process, because a panic on an executor's
// goroutine ends the process: then that case has failed, and another child
// goes on with the next.
type Isolated struct {
	command []string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	replies *json.Decoder
	stderr  bytes.Buffer
}

// NewIsolated names the command whose main calls Serve. The first case starts it.
func NewIsolated(command ...string) *Isolated { return &Isolated{command: command} }

// Run is a Runner.
func (w *Isolated) Run(ctx context.Context, c *Case) (Outcome, error) {
	failure, err := c.failure()
	if err != nil {
		return failure, err
	}
	if w.cmd == nil {
		if err := w.start(ctx); err != nil {
			return Failed, err
		}
	}
	line, err := json.Marshal(c)
	if err != nil {
		return Failed, err
	}
	var r reply
	_, err = w.stdin.Write(append(line, '\n'))
	if err == nil {
		err = w.replies.Decode(&r)
	}
	if err != nil {
		return failure, fmt.Errorf("the process died: %w: %s", errors.Join(err, w.Close()), w.lastWords())
	}
	if r.Why != "" {
		return r.Outcome, errors.New(r.Why)
	}
	return r.Outcome, nil
}

func (w *Isolated) start(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, w.command[0], w.command[1:]...)
	w.stderr.Reset()
	cmd.Stderr = &w.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.cmd, w.stdin, w.replies = cmd, stdin, json.NewDecoder(bufio.NewReader(stdout))
	return nil
}

// Close ends the child.
func (w *Isolated) Close() error {
	if w.cmd == nil {
		return nil
	}
	err := errors.Join(w.stdin.Close(), w.cmd.Wait())
	w.cmd = nil
	return err
}

// lastWords is the first line of what the child wrote: Go's "panic: ...".
func (w *Isolated) lastWords() string {
	first, _, _ := strings.Cut(strings.TrimSpace(w.stderr.String()), "\n")
	return first
}
