package compute

import (
	"context"
	"fmt"
	"sync"
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
	one    [1]part
}

// newValue is a value of so many parts, one of which needs no memory of its own.
func newValue(t arrow.DataType, parts int) *value {
	v := &value{typ: t}
	if parts == 1 {
		v.parts = v.one[:]
	} else {
		v.parts = make([]part, parts)
	}
	return v
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
	e        *engine
	ctx      context.Context
	c        gpu.Commands
	out      arrowmem.Allocator // where results come from
	epoch    int
	together bool // many kernels of a device with memory of its own
	many     bool // aggregates take the way of many rows
	args     [maxBindings]gpu.Arg
	fails    []failWord
	results  []*arrowmem.Buffer
	blocks   []*privateBlock
	pins     *pins
	params   msl.MapParams // of the dispatch being bound

	slabs     []*slab
	slabNow   *slab // that small takes from
	slabUsed  int
	slabSpace [4]*slab

	cols        [maxInputs]part // of the run being recorded
	nulls       [maxInputs]bool // of these
	word        place           // its error word
	failSpace   [12]failWord
	resultSpace [8]*arrowmem.Buffer
	blockSpace  [24]*privateBlock

	constants     []byte // the host's copy
	constantsAt   place  // the device's
	constantsUsed int

	shared map[selectionKey]*deviceSelection
	event  gpu.Event
}

// maxWrites is how many bindings a kernel writes at most: a cumulative sum its states, the next carry, values, validity and
// an error word.
const maxWrites = 5

const maxBindings = max(12, msl.MapBindings)

// failWord is the error word of a checked call.
type failWord struct {
	function string
	word     []byte
	misfit   bool // of a cast
}

func (e *engine) newRecorder(ctx context.Context) *recorder {
	r := &recorder{e: e, ctx: ctx, c: e.dev.Commands(), out: GetAllocator(ctx), epoch: 1}
	r.fails, r.results, r.blocks, r.slabs = r.failSpace[:0], r.resultSpace[:0], r.blockSpace[:0], r.slabSpace[:0]
	return r
}

// release gives back what the recorder still holds: results that became arrays have their own references.
func (r *recorder) release() {
	if r.c != nil {
		r.c.Discard()
		r.c, r.pins = nil, nil
	}
	for _, b := range r.results {
		b.Release()
	}
	for _, b := range r.blocks {
		b.release()
	}
	for _, s := range r.slabs {
		s.release()
	}
	r.results, r.blocks, r.slabs, r.slabNow = nil, nil, nil, nil
}

// keepNeeded gives back the blocks that nobody needs once the work has ended.
func (r *recorder) keepNeeded() {
	kept := r.blocks[:0]
	for _, b := range r.blocks {
		if b.needed {
			kept = append(kept, b)
		} else {
			b.release()
		}
	}
	r.blocks = kept
}

// constant is a copy of a few bytes for kernels to read. Where several may, the device gets it in its own memory: each
// kernel would wait for the bus otherwise. One copy, recorded before the first kernel that needs it, brings what is added
// until the commit.
func (r *recorder) constant(b []byte) (place, error) {
	if !r.together {
		host, at, err := r.small()
		copy(host, b)
		return at, err
	}
	if r.constants == nil || r.constantsUsed+smallBytes > len(r.constants) {
		s, err := r.slab()
		if err != nil {
			return place{}, err
		}
		to, _, err := r.unseen(slabBytes)
		if err != nil {
			return to, err
		}
		r.c.Copy(to.buf, to.off, s.at.buf, s.at.off, slabBytes)
		r.c.Barrier()
		r.epoch++
		r.constants, r.constantsAt, r.constantsUsed = s.bytes(), to, 0
		clear(r.constants)
	}
	at := r.constantsAt
	at.off += r.constantsUsed
	r.constantsUsed += (copy(r.constants[r.constantsUsed:], b) + bindAlign - 1) &^ (bindAlign - 1)
	return at, nil
}

// pin is something that lives until the work has ended.
type pin struct {
	owner *arrowmem.Buffer // kept reachable
	ref   memory.Ref       // the rest is given back
	buf   *arrowmem.Buffer
	copy  *resident
	block *privateBlock
	slab  *slab
}

// pins are those of one commit. The commands get them as one.
type pins struct {
	list  []pin
	letGo func()
}

// pinsPool keeps pins that were let go.
var pinsPool = sync.Pool{New: func() any { return new(pins) }}

func (p *pins) release() {
	for i := range p.list {
		x := &p.list[i]
		switch {
		case x.buf != nil:
			x.buf.Release()
		case x.copy != nil:
			x.copy.done()
		case x.block != nil:
			x.block.release()
		case x.slab != nil:
			x.slab.release()
		default:
			x.ref.Release()
		}
	}
	clear(p.list)
	p.list = p.list[:0]
	pinsPool.Put(p)
}

// pin keeps something until the work has ended.
func (r *recorder) pin(p pin) {
	if r.pins == nil {
		r.pins = pinsPool.Get().(*pins)
		if r.pins.letGo == nil {
			r.pins.letGo = r.pins.release
		}
		r.c.Retain(r.pins, r.pins.letGo)
	}
	r.pins.list = append(r.pins.list, p)
}

// smallBytes is the most that small gives, in a line of its own.
const smallBytes = 128

// small is scratch for a few words that the host reads in the end.
func (r *recorder) small() ([]byte, place, error) {
	if r.slabNow == nil || r.slabUsed == slabBytes {
		var err error
		if r.slabNow, err = r.slab(); err != nil {
			return nil, place{}, err
		}
		r.slabUsed = 0
	}
	at := r.slabNow.at
	at.off += r.slabUsed
	r.slabUsed += smallBytes
	return r.slabNow.bytes()[r.slabUsed-smallBytes : r.slabUsed : r.slabUsed], at, nil
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
	r.pin(pin{buf: b})
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
	wrote [maxWrites]*place
	n     int // of them
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
	d.wrote[d.n] = p
	d.n++
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
	for _, w := range d.wrote[:d.n] {
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
	r.c, r.event, r.pins = nil, ev, nil
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
