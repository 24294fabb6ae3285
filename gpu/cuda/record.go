//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/broadhead-go/broadhead/gpu"
)

const (
	maxArgs  = 31   // indices of the buffer table
	maxBytes = 4096 // of an argument by value
	rowSize  = 65536
	maxRows  = 65535
)

type commandKind uint8

const (
	dispatchCommand commandKind = iota
	copyCommand
	barrierCommand
)

// command is one recorded step.
type command struct {
	kind commandKind

	pipe            *pipeline // dispatch
	groups, threads int
	from, to        int // its bindings

	dst, src       *buffer // copy
	dstOff, srcOff int
	n              int
}

// binding is one argument: a buffer, or bytes in the recording's arena, or nothing.
type binding struct {
	buf      *buffer
	off      int
	from, to int
}

// keeper is a Go object that must outlive the work.
type keeper struct {
	owner   any
	release func()
}

// recording is what Commit hands to the device, and what stays alive until the work has ended. Nothing of CUDA is
// touched before Commit, so a recording that is discarded costs nothing.
type recording struct {
	steps    []command
	bindings []binding
	bytes    []byte
	keepers  []keeper
	err      error // the first of recording
}

var recordings = sync.Pool{New: func() any { return new(recording) }}

func newRecording() *recording { return recordings.Get().(*recording) }

// giveBack releases everything the recording kept alive and makes it free for another.
func (r *recording) giveBack() {
	for i := range r.steps {
		switch c := &r.steps[i]; c.kind {
		case dispatchCommand:
			c.pipe.unhold()
		case copyCommand:
			c.dst.unhold()
			c.src.unhold()
		}
	}
	for i := range r.bindings {
		if b := r.bindings[i].buf; b != nil {
			b.unhold()
		}
	}
	for _, k := range r.keepers {
		if k.release != nil {
			k.release()
		}
	}
	clear(r.steps)
	clear(r.bindings)
	clear(r.keepers)
	r.steps, r.bindings, r.bytes, r.keepers = r.steps[:0], r.bindings[:0], r.bytes[:0], r.keepers[:0]
	r.err = nil
	recordings.Put(r)
}

// fail remembers the first error.
func (r *recording) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("cuda: "+format, args...)
	}
}

// commands is the caller's handle on a recording; it has none after Commit or Discard.
type commands struct {
	dev *device
	rec *recording
}

var errSpent = errors.New("cuda: the recording was committed or discarded")

// Dispatch records a kernel's run.
func (c *commands) Dispatch(p gpu.Pipeline, groups, threads int, args []gpu.Arg) {
	r := c.rec
	if r == nil || r.err != nil {
		return
	}
	pipe, ok := p.(*pipeline)
	switch {
	case !ok || pipe.dev != c.dev:
		r.fail("dispatch: the pipeline (%T) is of another device", p)
		return
	case groups < 0 || groups > rowSize*maxRows:
		r.fail("dispatch of %s: %d threadgroups, not 0 to %d", pipe.name, groups, rowSize*maxRows)
		return
	case threads < 1 || threads > pipe.maxThreads:
		r.fail("dispatch of %s: %d threads in a threadgroup, not 1 to %d", pipe.name, threads, pipe.maxThreads)
		return
	case len(args) > maxArgs:
		r.fail("dispatch of %s: %d arguments, more than %d", pipe.name, len(args), maxArgs)
		return
	case groups == 0:
		return
	case !pipe.hold():
		r.fail("dispatch of %s: %w: the pipeline was released", pipe.name, gpu.ErrClosed)
		return
	}
	from := len(r.bindings)
	for i, a := range args {
		b, err := c.bind(a)
		if err != nil {
			r.fail("dispatch of %s: argument %d: %w", pipe.name, i, err)
			pipe.unhold()
			return
		}
		r.bindings = append(r.bindings, b)
	}
	r.steps = append(r.steps, command{kind: dispatchCommand, pipe: pipe, groups: groups, threads: threads,
		from: from, to: len(r.bindings)})
}

// bind checks an argument, holds its buffer and copies its bytes.
func (c *commands) bind(a gpu.Arg) (binding, error) {
	r := c.rec
	switch {
	case a.Buf != nil && a.Bytes != nil:
		return binding{}, errors.New("it has a buffer and bytes")
	case a.Buf != nil:
		buf, err := c.hold(a.Buf)
		if err != nil {
			return binding{}, err
		}
		if a.Off < 0 || a.Off >= buf.n {
			buf.unhold()
			return binding{}, fmt.Errorf("offset %d in a buffer of %d bytes", a.Off, buf.n)
		}
		return binding{buf: buf, off: a.Off}, nil
	case a.Bytes != nil:
		if len(a.Bytes) == 0 || len(a.Bytes) > maxBytes {
			return binding{}, fmt.Errorf("%d bytes by value, not 1 to %d", len(a.Bytes), maxBytes)
		}
		from := (len(r.bytes) + 15) &^ 15
		for len(r.bytes) < from {
			r.bytes = append(r.bytes, 0)
		}
		r.bytes = append(r.bytes, a.Bytes...)
		return binding{from: from, to: len(r.bytes)}, nil
	}
	return binding{}, nil
}

// hold checks that a buffer is this device's and keeps it alive.
func (c *commands) hold(b gpu.Buffer) (*buffer, error) {
	buf, ok := b.(*buffer)
	if !ok || buf.dev != c.dev {
		return nil, fmt.Errorf("the buffer (%T) is of another device", b)
	}
	if !buf.hold() {
		return nil, fmt.Errorf("%w: the buffer was released", gpu.ErrClosed)
	}
	return buf, nil
}

// Copy records a copy of n bytes.
func (c *commands) Copy(dst gpu.Buffer, dstOff int, src gpu.Buffer, srcOff, n int) {
	r := c.rec
	if r == nil || r.err != nil || n == 0 {
		return
	}
	to, err := c.hold(dst)
	if err != nil {
		r.fail("copy: destination: %w", err)
		return
	}
	from, err := c.hold(src)
	if err != nil {
		to.unhold()
		r.fail("copy: source: %w", err)
		return
	}
	if err := checkCopy(to, dstOff, from, srcOff, n); err != nil {
		to.unhold()
		from.unhold()
		r.fail("copy: %w", err)
		return
	}
	r.steps = append(r.steps, command{kind: copyCommand, dst: to, dstOff: dstOff, src: from, srcOff: srcOff, n: n})
}

func checkCopy(dst *buffer, dstOff int, src *buffer, srcOff, n int) error {
	switch {
	case n < 0 || dstOff < 0 || srcOff < 0 || n > dst.n-dstOff || n > src.n-srcOff:
		return fmt.Errorf("%d bytes from %d of %d to %d of %d", n, srcOff, src.n, dstOff, dst.n)
	case dst == src && dstOff < srcOff+n && srcOff < dstOff+n:
		return fmt.Errorf("%d bytes from %d to %d of the same buffer overlap", n, srcOff, dstOff)
	}
	return nil
}

// Barrier orders what was recorded before it before what comes after.
func (c *commands) Barrier() {
	if r := c.rec; r != nil && r.err == nil {
		r.steps = append(r.steps, command{kind: barrierCommand})
	}
}

// Retain keeps owner reachable until the work has ended.
func (c *commands) Retain(owner any, release func()) {
	if r := c.rec; r != nil {
		r.keepers = append(r.keepers, keeper{owner, release})
	} else if release != nil {
		release()
	}
}

// Discard drops the recording; after Commit it does nothing.
func (c *commands) Discard() {
	if c.rec != nil {
		c.rec.giveBack()
		c.rec = nil
	}
}
