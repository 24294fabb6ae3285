//go:build linux && (amd64 || arm64)

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

// queue puts a recording on a stream, step by step: a stream runs them in order, so barriers need nothing.
type queue struct {
	*session
	dev    *device
	stream uintptr
	rec    *recording
	slot   *slot   // nil: the recording is short
	staged *buffer // the recording's bytes in memory that the device sees, if a kernel takes their address

	noStaging bool // no memory may be taken
}

// node is a step as the driver gets it: a kernel's launch, or a copy of the driver's own.
type node struct {
	pipe    *pipeline // nil for a copy
	code    *module
	x, y    uintptr
	threads int
	args    []binding
	copies  bool       // by a kernel
	own     [3]binding // its arguments
	size    int        // bytes of arguments
	copy    *step
}

// all puts every step on the stream.
func (q *queue) all() error {
	if err := q.resolve(); err != nil {
		return err
	}
	return q.stepByStep()
}

// stepByStep puts one node after the other on the stream.
func (q *queue) stepByStep() error {
	for i := range q.nodes {
		err := q.run(&q.nodes[i])
		if err == nil && (i+1)%markEvery == 0 && q.slot != nil {
			err = q.mark(uint64((i + 1) / markEvery))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errHeldUp says that the device does not get on with the recording.
var errHeldUp = errors.New("the commands before are not done")

// marksAhead is how many marks the host is ahead of the device.
const marksAhead = 3

// mark has the stream write how far it is, and waits until it is not too far behind: the driver would make the caller
// wait as well, but without an end.
func (q *queue) mark(n uint64) error {
	sl := q.slot
	before := sl.value - 1 - sl.marks
	if st := q.call(cuStreamWriteValue64, q.stream, sl.at, uintptr(before+n), 0); st != success {
		return q.dev.judge(st)
	}
	if n <= marksAhead {
		return nil
	}
	start, limit := time.Now(), gpu.CommandTimeout()
	for sl.word.Load() < before+n-marksAhead {
		select {
		case <-q.dev.Ends.Failed():
			return errHeldUp
		case <-time.After(shortestNap):
		}
		if limit != 0 && time.Since(start) > limit {
			return errHeldUp
		}
	}
	return nil
}

// resolve makes the nodes of the recording.
func (q *queue) resolve() error {
	q.nodes = q.nodes[:0]
	for i := range q.rec.Steps {
		c := &q.rec.Steps[i]
		if c.Kind == record.Barrier {
			continue
		}
		q.nodes = append(q.nodes, node{})
		n := &q.nodes[len(q.nodes)-1]
		switch {
		case c.Kind == record.Dispatch:
			n.pipe, n.threads, n.args = c.Pipe, c.Threads, q.rec.Args(c)
			n.x, n.y = record.Fold(c.Groups)
		case c.N > smallCopy && !ofHost(c):
			n.copy = c
			continue
		default:
			err := q.copyByKernel(n, c)
			if err != nil && !ofHost(c) {
				n.copy = c
				continue
			}
			if err != nil {
				return err
			}
		}
		if err := q.choose(n); err != nil {
			return err
		}
	}
	// A kernel may declare a longer value than it is given.
	q.rec.Bytes = slices.Grow(q.rec.Bytes, record.MaxBytes)
	return nil
}

// ofHost says whether a copy is from host memory to host memory.
func ofHost(c *step) bool { return c.Src.host != nil && c.Dst.host != nil }

// copyByKernel makes n the launch of a kernel that copies.
func (q *queue) copyByKernel(n *node, c *step) error {
	pipe, err := q.dev.copier.get(q.dev)
	if err != nil {
		return err
	}
	const perGroup = copyThreads * copyThreadBytes
	from := len(q.rec.Bytes)
	q.rec.Bytes = binary.LittleEndian.AppendUint64(q.rec.Bytes, uint64(c.N))
	n.pipe, n.threads, n.copies = pipe, copyThreads, true
	n.own = [3]binding{{Buf: c.Src, Off: c.SrcOff}, {Buf: c.Dst, Off: c.DstOff}, {From: from, To: len(q.rec.Bytes)}}
	n.x, n.y = record.Fold((c.N + perGroup - 1) / perGroup)
	return nil
}

// bindings are the arguments of a kernel.
func (n *node) bindings() []binding {
	if n.copies {
		return n.own[:]
	}
	return n.args
}

// choose finds the variant of the kernel that the arguments need, and how many bytes they are.
func (q *queue) choose(n *node) error {
	n.code = &n.pipe.code
	args := n.bindings()
	for _, param := range n.code.params {
		if param.reference && param.index < len(args) && args[param.index].Buf != nil {
			if q.noStaging {
				return errNeedsMemory
			}
			var err error
			if n.code, err = n.pipe.addressed(); err != nil {
				return fmt.Errorf("dispatch of %s: argument %d is a buffer: %w", n.pipe.name, param.index, err)
			}
			break
		}
	}
	n.size = 0
	for _, param := range n.code.params {
		if !param.reference || n.code.byAddress {
			n.size += int(unsafe.Sizeof(q.values[0]))
		} else if param.index < len(args) {
			n.size += args[param.index].To - args[param.index].From
		}
	}
	return nil
}

// bind fills the session's values, and where they are, with a kernel's arguments.
func (q *queue) bind(n *node) error {
	args := n.bindings()
	for i, param := range n.code.params {
		var b binding
		if param.index < len(args) {
			b = args[param.index]
		}
		q.values[i] = 0
		q.where[i] = uintptr(unsafe.Pointer(&q.values[i]))
		switch {
		case b.Buf != nil:
			q.values[i] = b.Buf.at + uintptr(b.Off)
		case param.reference && !n.code.byAddress:
			q.where[i] = address(unbound[:])
			if b.To > b.From {
				q.where[i] = address(q.rec.Bytes[b.From:])
			}
		case b.To > b.From || param.reference:
			if err := q.stage(); err != nil {
				return err
			}
			q.values[i] = q.staged.at // zeros
			if b.To > b.From {
				q.values[i] += uintptr(record.MaxBytes + b.From)
			}
		}
	}
	return nil
}

// run puts a node on the stream.
func (q *queue) run(n *node) error {
	if n.copy != nil {
		return q.copy(n.copy)
	}
	if err := q.bind(n); err != nil {
		return err
	}
	st := q.call(cuLaunchKernel, n.code.function, n.x, n.y, 1, uintptr(n.threads), 1, 1, 0, q.stream,
		uintptr(unsafe.Pointer(&q.where)), 0)
	runtime.KeepAlive(q.rec)
	if st != success {
		return fmt.Errorf("dispatch of %s: %w", n.pipe.name, q.dev.judge(st))
	}
	return nil
}

// copy puts a copy of the driver's own on the stream.
func (q *queue) copy(c *step) error {
	st := q.call(cuMemcpyAsync, c.Dst.at+uintptr(c.DstOff), c.Src.at+uintptr(c.SrcOff), uintptr(c.N), q.stream)
	if st != success {
		return fmt.Errorf("copy of %d bytes: %w", c.N, q.dev.judge(st))
	}
	return nil
}

// forget drops what the nodes keep reachable.
func (q *queue) forget() { clear(q.nodes) }

// unbound is the value of a constant reference that nothing is bound to.
var unbound = new([record.MaxBytes]byte)

// stage copies the recording's bytes to where the device sees them, behind zeros for what is not bound, once.
func (q *queue) stage() error {
	switch {
	case q.staged != nil:
		return nil
	case q.noStaging:
		return errNeedsMemory
	}
	b, err := q.dev.alloc(record.MaxBytes+len(q.rec.Bytes), gpu.Shared)
	if err != nil {
		return err
	}
	clear(b.host[:record.MaxBytes])
	copy(b.host[record.MaxBytes:], q.rec.Bytes)
	q.staged = b
	q.rec.Retain(b, b.Release)
	return nil
}
