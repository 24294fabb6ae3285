package record

import (
	"errors"
	"fmt"
	"sync"

	"github.com/broadhead-go/broadhead/gpu"
)

// Buffer is a driver's gpu.Buffer, of a device D.
type Buffer[D any] interface {
	gpu.Buffer
	Held
	Owner() D
}

// Pipeline is a driver's gpu.Pipeline, of a device D.
type Pipeline[D any] interface {
	gpu.Pipeline
	Held
	Owner() D
	Name() string
}

// Driver makes the recordings of all devices of a driver.
type Driver[D comparable, P Pipeline[D], B Buffer[D]] struct {
	Name      string // in errors
	MaxGroups int    // threadgroups of one dispatch

	free sync.Pool
}

// Begin begins a recording for a device.
func (d *Driver[D, P, B]) Begin(dev D) Commands[D, P, B] {
	r, _ := d.free.Get().(*Recording[P, B])
	if r == nil {
		r = &Recording[P, B]{home: &d.free}
	}
	return Commands[D, P, B]{Dev: dev, driver: d, rec: r}
}

// Commands is the caller's handle on a recording: gpu.Commands but for Commit. It has no recording after Take or Discard.
type Commands[D comparable, P Pipeline[D], B Buffer[D]] struct {
	Dev    D
	driver *Driver[D, P, B]
	rec    *Recording[P, B]
}

var errSpent = errors.New("the recording was committed or discarded")

// Take takes the recording for a commit, once; whoever has it gives it back.
func (c *Commands[D, P, B]) Take() (*Recording[P, B], error) {
	r := c.rec
	if r == nil {
		return nil, fmt.Errorf("%s: %w", c.driver.Name, errSpent)
	}
	c.rec = nil
	return r, nil
}

// open is the recording that another command goes to: nil if it is gone or has failed.
func (c *Commands[D, P, B]) open() *Recording[P, B] {
	if c.rec == nil || c.rec.err != nil {
		return nil
	}
	return c.rec
}

// fail is the end of a recording.
func (c *Commands[D, P, B]) fail(format string, args ...any) {
	c.rec.err = fmt.Errorf(c.driver.Name+": "+format, args...)
}

// Dispatch records a kernel's run.
func (c *Commands[D, P, B]) Dispatch(p gpu.Pipeline, groups, threads int, args []gpu.Arg) {
	r := c.open()
	if r == nil {
		return
	}
	pipe, ok := p.(P)
	switch {
	case !ok || pipe.Owner() != c.Dev:
		c.fail("dispatch: the pipeline (%T) is of another device", p)
		return
	case groups < 0 || groups > c.driver.MaxGroups:
		c.fail("dispatch of %s: %d threadgroups, not 0 to %d", pipe.Name(), groups, c.driver.MaxGroups)
		return
	case threads < 1 || threads > pipe.MaxThreads():
		c.fail("dispatch of %s: %d threads in a threadgroup, not 1 to %d", pipe.Name(), threads, pipe.MaxThreads())
		return
	case len(args) > MaxArgs:
		c.fail("dispatch of %s: %d arguments, more than %d", pipe.Name(), len(args), MaxArgs)
		return
	case groups == 0:
		return
	case !pipe.Hold():
		c.fail("dispatch of %s: %w: the pipeline was released", pipe.Name(), gpu.ErrClosed)
		return
	}
	from := len(r.bindings)
	for i, a := range args {
		b, err := c.bind(a)
		if err != nil {
			c.fail("dispatch of %s: argument %d: %w", pipe.Name(), i, err)
			pipe.Unhold()
			return
		}
		r.bindings = append(r.bindings, b)
	}
	r.Steps = append(r.Steps, Step[P, B]{Kind: Dispatch, Pipe: pipe, Groups: groups, Threads: threads,
		from: from, to: len(r.bindings)})
}

// bind checks an argument, holds its buffer and copies its bytes.
func (c *Commands[D, P, B]) bind(a gpu.Arg) (Binding[B], error) {
	r := c.rec
	switch {
	case a.Buf != nil && a.Bytes != nil:
		return Binding[B]{}, errors.New("it has a buffer and bytes")
	case a.Buf != nil:
		buf, err := c.hold(a.Buf)
		if err != nil {
			return Binding[B]{}, err
		}
		if a.Off < 0 || a.Off >= buf.Len() {
			buf.Unhold()
			return Binding[B]{}, fmt.Errorf("offset %d in a buffer of %d bytes", a.Off, buf.Len())
		}
		return Binding[B]{Buf: buf, Off: a.Off}, nil
	case a.Bytes != nil:
		if len(a.Bytes) == 0 || len(a.Bytes) > MaxBytes {
			return Binding[B]{}, fmt.Errorf("%d bytes by value, not 1 to %d", len(a.Bytes), MaxBytes)
		}
		from := (len(r.Bytes) + 15) &^ 15
		for len(r.Bytes) < from {
			r.Bytes = append(r.Bytes, 0)
		}
		r.Bytes = append(r.Bytes, a.Bytes...)
		return Binding[B]{From: from, To: len(r.Bytes)}, nil
	}
	return Binding[B]{}, nil
}

// hold checks that a buffer is this device's and keeps it alive.
func (c *Commands[D, P, B]) hold(b gpu.Buffer) (B, error) {
	buf, ok := b.(B)
	var none B
	if !ok || buf.Owner() != c.Dev {
		return none, fmt.Errorf("the buffer (%T) is of another device", b)
	}
	if !buf.Hold() {
		return none, fmt.Errorf("%w: the buffer was released", gpu.ErrClosed)
	}
	return buf, nil
}

// Copy records a copy of n bytes.
func (c *Commands[D, P, B]) Copy(dst gpu.Buffer, dstOff int, src gpu.Buffer, srcOff, n int) {
	r := c.open()
	if r == nil || n == 0 {
		return
	}
	to, err := c.hold(dst)
	if err != nil {
		c.fail("copy: destination: %w", err)
		return
	}
	from, err := c.hold(src)
	if err != nil {
		to.Unhold()
		c.fail("copy: source: %w", err)
		return
	}
	if err := checkCopy(to.Len(), dstOff, from.Len(), srcOff, n, to == from); err != nil {
		to.Unhold()
		from.Unhold()
		c.fail("copy: %w", err)
		return
	}
	r.Steps = append(r.Steps, Step[P, B]{Kind: Copy, Dst: to, DstOff: dstOff, Src: from, SrcOff: srcOff, N: n})
}

func checkCopy(dstLen, dstOff, srcLen, srcOff, n int, same bool) error {
	switch {
	case n < 0 || dstOff < 0 || srcOff < 0 || n > dstLen-dstOff || n > srcLen-srcOff:
		return fmt.Errorf("%d bytes from %d of %d to %d of %d", n, srcOff, srcLen, dstOff, dstLen)
	case same && dstOff < srcOff+n && srcOff < dstOff+n:
		return fmt.Errorf("%d bytes from %d to %d of the same buffer overlap", n, srcOff, dstOff)
	}
	return nil
}

// Barrier orders what was recorded before it before what comes after.
func (c *Commands[D, P, B]) Barrier() {
	if r := c.open(); r != nil {
		r.Steps = append(r.Steps, Step[P, B]{Kind: Barrier})
	}
}

// Retain keeps owner reachable until the work has ended.
func (c *Commands[D, P, B]) Retain(owner any, release func()) {
	if c.rec != nil {
		c.rec.Retain(owner, release)
	} else if release != nil {
		release()
	}
}

// Discard drops the recording; after Commit it does nothing.
func (c *Commands[D, P, B]) Discard() {
	if c.rec != nil {
		c.rec.GiveBack()
		c.rec = nil
	}
}
