//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

const (
	dispatchConcurrent = 1 // MTLDispatchTypeConcurrent: only barriers order
	barrierBuffers     = 1 // MTLBarrierScopeBuffers
)

type encoderKind uint8

const (
	noEncoder encoderKind = iota
	computeEncoder
	blitEncoder
)

// encoder writes a recording into a command buffer. It opens an encoder of Metal's when the kind of work changes, and
// orders one after the other by the slot's fence, since buffers are not tracked.
type encoder struct {
	*session
	dev     *device
	slot    *slot
	command id // command buffer
	rec     *recording

	kind    encoderKind
	id      id
	ordered bool // an encoder ended before, and updated the fence
	used    bool // the open encoder has work
	barrier bool // one was recorded since

	pipe  *pipeline // what the open compute encoder has set
	bound [record.MaxArgs]binding
}

// all encodes every step and ends the last encoder.
func (e *encoder) all() error {
	for i := range e.rec.Steps {
		var err error
		switch c := &e.rec.Steps[i]; c.Kind {
		case record.Dispatch:
			err = e.run(c.Pipe, c.Groups, c.Threads, e.rec.Args(c))
		case record.Copy:
			err = e.copy(c)
		case record.Barrier:
			e.barrier = e.used
		}
		if err != nil {
			e.close(false)
			return err
		}
	}
	e.close(false)
	return nil
}

// open makes sure that an encoder of a kind is open, after a barrier one that is ordered after the last.
func (e *encoder) open(kind encoderKind, message selector, args ...uintptr) error {
	if e.kind == kind && (!e.barrier || kind == computeEncoder) {
		return nil
	}
	if err := e.close(true); err != nil {
		return err
	}
	e.id = id(e.send(e.command, message, args...))
	if e.id == 0 {
		return fmt.Errorf("%w: Metal gives no command encoder", gpu.ErrOutOfMemory)
	}
	e.kind, e.used, e.barrier, e.pipe = kind, false, false, nil
	clear(e.bound[:])
	if e.ordered {
		e.send(e.id, selWaitForFence, uintptr(e.slot.fence))
	}
	return nil
}

// close ends the open encoder; when another follows it leaves the fence updated.
func (e *encoder) close(follows bool) error {
	if e.kind == noEncoder {
		return nil
	}
	defer func() {
		e.send(e.id, selEndEncoding)
		e.kind = noEncoder
	}()
	if !follows {
		return nil
	}
	if e.slot.fence == 0 {
		if e.slot.fence = id(e.send(e.dev.id, selNewFence)); e.slot.fence == 0 {
			return fmt.Errorf("%w: Metal gives no fence", gpu.ErrOutOfMemory)
		}
	}
	e.send(e.id, selUpdateFence, uintptr(e.slot.fence))
	e.ordered = true
	return nil
}

// run encodes a dispatch.
func (e *encoder) run(p *pipeline, groups, threads int, args []binding) error {
	if err := e.open(computeEncoder, selComputeEncoder, dispatchConcurrent); err != nil {
		return err
	}
	if e.barrier {
		e.send(e.id, selMemoryBarrier, barrierBuffers)
		e.barrier = false
	}
	if e.pipe != p {
		e.send(e.id, selSetPipeline, uintptr(p.id))
		e.pipe = p
	}
	e.bind(args)
	x, y := record.Fold(groups)
	e.sendSizes(e.id, selDispatch, size{x, y, 1}, size{uintptr(threads), 1, 1})
	e.used = true
	return nil
}

// bind sets what is not set already. Buffers go in one message, with those that are set and gaps among them: a gap is
// nil, which leaves an index without a buffer.
func (e *encoder) bind(list []binding) {
	for i := 0; i < len(list); {
		if b := list[i]; b.To > b.From {
			e.send(e.id, selSetBytes, address(e.rec.Bytes[b.From:]), uintptr(b.To-b.From), uintptr(i))
			e.bound[i] = b
			i++
			continue
		}
		from, to := 0, 0 // what changes
		for ; i < len(list) && list[i].To == list[i].From; i++ {
			if list[i].Buf != nil && e.bound[i] != list[i] {
				if to == 0 {
					from = i
				}
				to = i + 1
			}
		}
		e.setBuffers(list[from:to], from)
	}
	runtime.KeepAlive(e.rec)
}

// setBuffers sets buffers and gaps from an index on.
func (e *encoder) setBuffers(list []binding, index int) {
	for k, b := range list {
		e.buffers[k], e.offsets[k] = 0, uintptr(b.Off)
		if b.Buf != nil {
			e.buffers[k] = uintptr(b.Buf.id)
		}
		e.bound[index+k] = b
	}
	switch len(list) {
	case 0:
	case 1:
		e.send(e.id, selSetBuffer, e.buffers[0], e.offsets[0], uintptr(index))
	default:
		e.send(e.id, selSetBuffers, uintptr(unsafe.Pointer(&e.buffers)), uintptr(unsafe.Pointer(&e.offsets)), uintptr(index), uintptr(len(list)))
	}
}
