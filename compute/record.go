package compute

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
	"github.com/broadhead-go/broadhead/msl"
)

// value is an argument or a result on a device: chunks of rows, or a scalar.
type value struct {
	typ    arrow.DataType
	form   form
	parts  []part
	fields []*value // of a struct scalar, which has no parts
}

// part is one chunk of a value. Its memory is in device buffers; on unified memory those are the array's own.
type part struct {
	typ               msl.Type
	values, valid     place
	off, validOff     uint64
	nullable          bool
	n                 int           // rows; the most there can be when count is set
	count             *rowCount     // set while the number of rows is known to the device only
	stride            uint32        // 0 for a scalar
	block, validBlock *privateBlock // of results on devices with memory of their own
	valueBuf          *arrowmem.Buffer
	validBuf          *arrowmem.Buffer
	host, hostValid   []byte          // of results: the same memory as the host sees it
	like              arrow.ArrayData // of inputs: what a filter's result resembles
}

// place is a position in a device buffer. epoch is the recorder's when a command last wrote there.
type place struct {
	buf   gpu.Buffer
	off   int
	epoch int
}

// rowCount is a number of rows that the device computes.
type rowCount struct {
	at   place
	host []byte
	most int
}

// rows is the number, after the work has ended.
func (c *rowCount) rows() uint64 { return *(*uint64)(unsafe.Pointer(unsafe.SliceData(c.host))) }

// rows is the number of rows of a part, after the work has ended.
func (p *part) rows() int {
	if p.count == nil {
		return p.n
	}
	return int(p.count.rows())
}

// slice is rows [start, start+n) of a part whose number of rows is known.
func (p part) slice(start, n int) part {
	if p.stride == 0 {
		return p
	}
	p.off += uint64(start)
	p.validOff += uint64(start)
	p.n = n
	return p
}

// recorder encodes calls for one submission. Everything it allocates lives until the work has ended.
type recorder struct {
	e       *engine
	ctx     context.Context
	c       gpu.Commands
	out     arrowmem.Allocator // where results come from
	epoch   int
	many    bool // aggregates take the way of many rows
	args    [maxBindings]gpu.Arg
	fails   []failWord
	results []*arrowmem.Buffer
	blocks  []*privateBlock
	shared  map[selectionKey]*deviceSelection
	event   gpu.Event
}

const maxBindings = max(12, msl.MapBindings)

// failWord is the error word of a checked call.
type failWord struct {
	function string
	word     []byte
	misfit   bool // of a cast
}

func (e *engine) newRecorder(ctx context.Context) *recorder {
	return &recorder{e: e, ctx: ctx, c: e.dev.Commands(), out: GetAllocator(ctx), epoch: 1}
}

// release gives back what the recorder still holds: results that became arrays have their own references.
func (r *recorder) release() {
	if r.c != nil {
		r.c.Discard()
		r.c = nil
	}
	for _, b := range r.results {
		b.Release()
	}
	for _, b := range r.blocks {
		b.release()
	}
	r.results, r.blocks = nil, nil
}

// keepOnly gives back the blocks that nobody needs once the work has ended.
func (r *recorder) keepOnly(needed map[*privateBlock]bool) {
	kept := r.blocks[:0]
	for _, b := range r.blocks {
		if needed[b] {
			kept = append(kept, b)
		} else {
			b.release()
		}
	}
	r.blocks = kept
}

// scratch is device memory of n bytes, of unspecified content, until the work has ended.
func (r *recorder) scratch(n int) (*arrowmem.Buffer, place, error) {
	b, err := r.e.mem.NewBuffer(max(n, 16))
	if err != nil {
		return nil, place{}, err
	}
	return r.adopt(b)
}

// result is memory for a result: from the caller's allocator where the device sees it, else from the engine's, from
// which the result is copied in the end. The recorder keeps a reference of its own.
func (r *recorder) result(n int) (*arrowmem.Buffer, place, error) {
	n = max(n, 16)
	if r.visible() {
		b, err := newBuffer(r.out, n)
		if err != nil {
			return nil, place{}, allocatorError{err}
		}
		if ref, ok := memory.Lookup(b.Bytes()); ok && ref.Device() == r.e.dev {
			b.Retain()
			r.results = append(r.results, b)
			return r.adopt(b)
		}
		b.Release()
	}
	b, p, err := r.scratch(n)
	if err == nil {
		b.Retain()
		r.results = append(r.results, b)
	}
	return b, p, err
}

// visible says whether the caller's allocator may give memory that the device sees. arrow-go's plain allocators cannot.
func (r *recorder) visible() bool {
	switch a := r.out.(type) {
	case *memory.Allocator:
		return a.Device() == r.e.dev
	case *arrowmem.GoAllocator:
		return false
	}
	return true
}

// errNoDeviceMemory is an allocator's that has lost its device and gives plain memory.
var errNoDeviceMemory = fmt.Errorf("compute: %w: the allocator gives plain memory", gpu.ErrDeviceLost)

// adopt hands a buffer of the device's memory to the commands.
func (r *recorder) adopt(b *arrowmem.Buffer) (*arrowmem.Buffer, place, error) {
	ref, ok := memory.Lookup(b.Bytes())
	if !ok {
		b.Release()
		return nil, place{}, errNoDeviceMemory
	}
	r.c.Retain(b, b.Release)
	return b, place{buf: ref.Buffer(), off: ref.Offset()}, nil
}

// bytesOf is a parameter struct as a kernel reads it.
func bytesOf[T any](params *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(params)), unsafe.Sizeof(*params))
}

// dispatch is one kernel being bound.
type dispatch struct {
	r     *recorder
	key   msl.Key
	wait  bool // a binding was written in this epoch
	last  int  // the last binding
	wrote []*place
}

// kernel begins a dispatch.
func (r *recorder) kernel(k msl.Key) *dispatch {
	k.Caps = r.e.info.Caps
	clear(r.args[:])
	return &dispatch{r: r, key: k}
}

// in binds something to read.
func (d *dispatch) in(index int, p *place) *dispatch {
	d.r.args[index] = gpu.Arg{Buf: p.buf, Off: p.off}
	d.last = max(d.last, index)
	d.wait = d.wait || p.epoch == d.r.epoch
	return d
}

// to binds something to write.
func (d *dispatch) to(index int, p *place) *dispatch {
	d.in(index, p)
	d.wrote = append(d.wrote, p)
	return d
}

// rows binds a number of rows that only the device knows.
func (d *dispatch) rows(index int, c *rowCount) *dispatch {
	if c != nil {
		d.key.Flags |= msl.Pending
		d.in(index, &c.at)
	}
	return d
}

// run records the dispatch, behind a barrier if it reads what this epoch wrote.
func (d *dispatch) run(index int, params []byte, groups int) error {
	p, err := d.r.e.pipes.Get(msl.Canonical(d.key))
	if err != nil {
		return err
	}
	d.r.args[index] = gpu.Arg{Bytes: params}
	if d.wait {
		d.r.c.Barrier()
		d.r.epoch++
	}
	for _, w := range d.wrote {
		w.epoch = d.r.epoch
	}
	d.r.c.Dispatch(p, groups, msl.Threads, d.r.args[:max(index, d.last)+1])
	return nil
}

// finish commits the recording, waits for it, and checks what the kernels report.
func (r *recorder) finish(ctx context.Context) error {
	if err := r.commit(); err != nil {
		return err
	}
	if err := r.event.Wait(ctx); err != nil {
		return err
	}
	return r.check()
}

func (r *recorder) commit() error {
	ev, err := r.c.Commit()
	r.c, r.event = nil, ev
	return err
}

// errImpossible is an answer of a device that no input explains.
var errImpossible = fmt.Errorf("compute: %w with an impossible answer", gpu.ErrCommand)

// check reads what the kernels report: the first checked call that failed is the error, and a count that cannot be is
// the device's.
func (r *recorder) check() error {
	for _, sel := range r.shared {
		if n := sel.total.rows(); n > uint64(sel.total.most) {
			return fmt.Errorf("%w: a filter of %d rows kept %d", errImpossible, sel.total.most, n)
		}
	}
	for _, f := range r.fails {
		switch w := *(*uint32)(unsafe.Pointer(unsafe.SliceData(f.word))); {
		case w == 0:
		case f.misfit:
			return &callError{f.function, errMisfit}
		default:
			return &callError{f.function, deviceError(w)}
		}
	}
	return nil
}

// callError is an error of one call, which knows its function's name.
type callError struct {
	function string
	err      error
}

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }
