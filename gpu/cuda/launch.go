//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"runtime"
	"slices"
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
	staged *buffer // the recording's bytes in memory that the device sees, if a kernel takes their address

	noStaging bool // no memory may be taken
}

func (q *queue) all() error {
	// A kernel may declare a longer value than it is given.
	q.rec.Bytes = slices.Grow(q.rec.Bytes, record.MaxBytes)
	for i := range q.rec.Steps {
		var err error
		switch c := &q.rec.Steps[i]; c.Kind {
		case record.Dispatch:
			err = q.run(c.Pipe, c.Groups, c.Threads, q.rec.Args(c))
		case record.Copy:
			err = q.copy(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run launches a kernel.
func (q *queue) run(p *pipeline, groups, threads int, args []binding) error {
	code := &p.code
	for _, param := range code.params {
		if param.reference && param.index < len(args) && args[param.index].Buf != nil {
			if q.noStaging {
				return errNeedsMemory
			}
			var err error
			if code, err = p.addressed(); err != nil {
				return fmt.Errorf("dispatch of %s: argument %d is a buffer: %w", p.name, param.index, err)
			}
			break
		}
	}
	for i, param := range code.params {
		var b binding
		if param.index < len(args) {
			b = args[param.index]
		}
		q.values[i] = 0
		q.where[i] = uintptr(unsafe.Pointer(&q.values[i]))
		switch {
		case b.Buf != nil:
			q.values[i] = b.Buf.at + uintptr(b.Off)
		case param.reference && !code.byAddress:
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
	x, y := record.Fold(groups)
	st := q.call(cuLaunchKernel, code.function, x, y, 1, uintptr(threads), 1, 1, 0, q.stream,
		uintptr(unsafe.Pointer(&q.where)), 0)
	runtime.KeepAlive(q.rec)
	if st != success {
		return fmt.Errorf("dispatch of %s: %w", p.name, q.dev.judge(st))
	}
	return nil
}

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
