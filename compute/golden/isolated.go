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
	line, err := json.Marshal(c)
	if err != nil {
		return Failed, err
	}
	for {
		fresh := w.cmd == nil
		if fresh {
			if err := w.start(ctx); err != nil {
				return Failed, err
			}
		}
		r, err := w.ask(line)
		switch {
		case err == nil && r.Why == "":
			return r.Outcome, nil
		case err == nil:
			return r.Outcome, errors.New(r.Why)
		}
		err = errors.Join(err, w.Close())
		// A goroutine of an earlier case may have outlived its call and
		// panicked just now: only a fresh child's death is this case's.
		if fresh || ctx.Err() != nil {
			return failure, fmt.Errorf("the process died: %w: %s", err, w.lastWords())
		}
	}
}

func (w *Isolated) ask(line []byte) (r reply, err error) {
	if _, err = w.stdin.Write(append(line, '\n')); err == nil {
		err = w.replies.Decode(&r)
	}
	return r, err
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
