//go:build linux && (amd64 || arm64)

package cuda

import (
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
