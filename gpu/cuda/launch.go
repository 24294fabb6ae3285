//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
)

// queue puts a recording on a stream, step by step: a stream runs them in order, so barriers need nothing.
type queue struct {
	*session
	dev    *device
	stream uintptr
	rec    *recording
	staged *buffer // the recording's bytes in memory that the device sees, if a kernel takes their address
}

func (q *queue) all() error {
	// A kernel may declare a longer value than it is given.
	q.rec.bytes = slices.Grow(q.rec.bytes, maxBytes)
	for i := range q.rec.steps {
		var err error
		switch c := &q.rec.steps[i]; c.kind {
		case dispatchCommand:
			err = q.run(c.pipe, c.groups, c.threads, q.rec.bindings[c.from:c.to])
		case copyCommand:
			err = q.copy(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// grid folds threadgroups into rows. The last row may have more than was asked for.
func grid(groups int) (x, y uintptr) {
	if groups <= rowSize {
		return uintptr(groups), 1
	}
	return rowSize, uintptr((groups + rowSize - 1) / rowSize)
}

// run launches a kernel.
func (q *queue) run(p *pipeline, groups, threads int, args []binding) error {
	code := &p.code
	for _, param := range code.params {
		if param.reference && param.index < len(args) && args[param.index].buf != nil {
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
		case b.buf != nil:
			q.values[i] = b.buf.at + uintptr(b.off)
		case param.reference && !code.byAddress:
			q.where[i] = address(unbound[:])
			if b.to > b.from {
				q.where[i] = address(q.rec.bytes[b.from:])
			}
		case b.to > b.from || param.reference:
			if err := q.stage(); err != nil {
				return err
			}
			q.values[i] = q.staged.at // zeros
			if b.to > b.from {
				q.values[i] += uintptr(maxBytes + b.from)
			}
		}
	}
	x, y := grid(groups)
	st := q.call(cuLaunchKernel, code.function, x, y, 1, uintptr(threads), 1, 1, 0, q.stream,
		uintptr(unsafe.Pointer(&q.where)), 0)
	runtime.KeepAlive(q.rec)
	if st != success {
		return fmt.Errorf("dispatch of %s: %w", p.name, q.dev.judge(st))
	}
	return nil
}

// unbound is the value of a constant reference that nothing is bound to.
var unbound = new([maxBytes]byte)

// stage copies the recording's bytes to where the device sees them, behind zeros for what is not bound, once.
func (q *queue) stage() error {
	if q.staged != nil {
		return nil
	}
	b, err := q.dev.alloc(maxBytes+len(q.rec.bytes), gpu.Shared)
	if err != nil {
		return err
	}
	clear(b.host[:maxBytes])
	copy(b.host[maxBytes:], q.rec.bytes)
	q.staged = b
	q.rec.keepers = append(q.rec.keepers, keeper{b, b.Release})
	return nil
}
