package compute

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/equal"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
	"github.com/broadhead-go/broadhead/msl"
)

// workerCall is how a device's resident worker does a call; op is 0 where it cannot.
type workerCall struct {
	op     gpu.WorkerOp
	typ    msl.Type // the elements'
	out    arrow.DataType
	finish func(t *gpu.Task) Datum // of aggregates
}

// workerOps are the element-wise functions that workers know.
var workerOps = map[string]gpu.WorkerOp{
	"equal": gpu.WorkerEqual, "not_equal": gpu.WorkerNotEqual, "less": gpu.WorkerLess, "less_equal": gpu.WorkerLessEqual,
	"greater": gpu.WorkerGreater, "greater_equal": gpu.WorkerGreaterEqual,
	"add_unchecked": gpu.WorkerAdd, "sub_unchecked": gpu.WorkerSubtract, "multiply_unchecked": gpu.WorkerMultiply,
	"add": gpu.WorkerAddChecked, "sub": gpu.WorkerSubtractChecked, "multiply": gpu.WorkerMultiplyChecked,
}

// workerRows are the numbers of rows of 8 bytes from which a worker is faster than the CPU on columns in device memory, and
// up to which it is faster than a submission or the CPU: measured on an H200 beside 16 cores (bench/results/h200-latency.md).
var workerRows = map[crossClass][2]int64{
	crossReduce:  {131_072, 1 << 19},
	crossCompare: {32_768, 1 << 20},
	crossMap:     {65_536, 1 << 18},
	crossFilter:  {65_536, 1 << 20},
}

// workerMost is the most rows that a worker takes where the program has set a crossover.
const workerMost = 1 << 20

// work is how a worker does an aggregate.
func (a *aggregate) work(p *aggPlan, opts *ScalarAggregateOptions, mode CountMode) workerCall {
	w := workerCall{typ: p.in}
	switch {
	case a.name == "count":
		w.op = gpu.WorkerCount
	case a.name == "sum" && p.reduction == msl.OpSum:
		w.op = gpu.WorkerSum
	case p.reduction == msl.OpMinMax:
		w.op = gpu.WorkerMinMax
	}
	w.finish = func(task *gpu.Task) Datum {
		t := tallyPool.Get().(*tally)
		defer t.recycle()
		t.rows, t.valid, t.sum = task.N, task.Result.Rows, task.Result.Value
		if a.name == "count" {
			return ac.NewDatumWithoutOwning(t.count(mode))
		}
		if w.op == gpu.WorkerMinMax {
			t.numbers = task.Result.Rows - task.Result.NaNs
			t.min, t.max = keyOfBits(p.in, task.Result.Value), keyOfBits(p.in, task.Result.Max)
		}
		return ac.NewDatumWithoutOwning(a.answer(t, p, opts))
	}
	return w
}

// keyOfBits is keyOf of a value's bits.
func keyOfBits(t msl.Type, bits uint64) uint64 {
	switch t {
	case msl.I32:
		return keyOf(int32(bits))
	case msl.F32:
		return keyOf(math.Float32frombits(uint32(bits)))
	case msl.F64:
		return floatKey(bits)
	case msl.I64:
		return keyOf(int64(bits))
	}
	return bits
}

// worker is the engine and the resident worker that take a call, nil where none does. Without resident mode it costs one
// load.
func (c *call) worker(ctx context.Context, args []Datum) (*engine, gpu.Worker) {
	if c.work.op == 0 || !gpu.HaveWorkers() {
		return nil, nil
	}
	dev, err := deviceOf(ctx)
	if err != nil {
		return nil, nil
	}
	w := gpu.WorkerOf(dev)
	if w == nil || !w.Takes(c.work.op, c.work.typ) || !c.workable(args) {
		return nil, nil
	}
	e := engineOf(dev)
	if e.usable() != nil || !e.holdsAll(args) {
		return nil, nil
	}
	k := c.admit
	k.fn, k.args = "resident", len(args)
	for i, a := range args {
		if d, ok := a.(*ac.ArrayDatum); ok && d.Value.NullN() != 0 {
			k.nulls |= 1 << i
		}
	}
	verdict, known := e.admitted.Known(k)
	if !known {
		verdict = e.admitted.Check(k, func() error { return e.tryWorker(ctx, w, c, k) })
	}
	if verdict != nil {
		return nil, nil
	}
	return e, w
}

// holdsAll says whether the device has a copy of all that a call reads.
func (e *engine) holdsAll(args []Datum) bool {
	for _, a := range args {
		d, ok := a.(*ac.ArrayDatum)
		if !ok {
			continue // a scalar
		}
		for _, b := range d.Value.Buffers() {
			if b != nil && b.Len() > 0 && !e.residents.holds(b) {
				return false
			}
		}
	}
	return true
}

// workerRun is what one call on a worker needs, kept for the next.
type workerRun struct {
	tasks [1]gpu.Task
	held
}

var workerRuns = sync.Pool{New: func() any { return new(workerRun) }}

func (r *workerRun) release() {
	r.held.release()
	*r = workerRun{}
	workerRuns.Put(r)
}

// workable says whether a call's arguments are what workers take: one chunk of a fitting number of rows, nulls in
// reductions only, and a scalar at most on the right.
func (c *call) workable(args []Datum) bool {
	rows := args[0].Len()
	from, to := c.workerRows()
	if rows < max(from, 1) || rows > to {
		return false
	}
	for i, a := range args {
		switch v := a.(type) {
		case *ac.ArrayDatum:
			if a.Len() != rows || c.work.op > gpu.WorkerCount && v.Value.NullN() != 0 {
				return false
			}
		case *ac.ScalarDatum:
			if i == 0 || !v.Value.IsValid() || c.work.op == gpu.WorkerFilter {
				return false
			}
		default:
			return false
		}
	}
	return c.work.op != gpu.WorkerCount || haveValidity(args[0])
}

// workerRows are the numbers of rows from and up to which a worker takes the call.
func (c *call) workerRows() (from, to int64) {
	if rows, set := crossoverSet(c.fn.name); set {
		return rows, workerMost
	}
	limits := workerRows[c.cross]
	return perWidth(limits[0], c.cross, c.in), min(perWidth(limits[1], c.cross, c.in), workerMost)
}

// held is memory that a task reads, kept for as long as that.
type held struct {
	residents [4]*resident
	refs      [4]memory.Ref
	nResident int
	nRef      int
}

func (h *held) release() {
	for _, r := range h.residents[:h.nResident] {
		r.done()
	}
	for i := range h.refs[:h.nRef] {
		h.refs[i].Release()
	}
}

// view finds device memory of a buffer.
func (e *engine) view(owner *arrowmem.Buffer, h *held) (gpu.Buffer, int, bool) {
	if owner == nil || owner.Len() == 0 {
		return nil, 0, false
	}
	if r := e.residents.find(owner); r != nil {
		h.residents[h.nResident] = r
		h.nResident++
		return r.at.buf, r.at.off, true
	}
	ref, ours := memory.Lookup(owner.Bytes())
	if !ours || ref.Device() != e.dev || !ref.Retain() {
		return nil, 0, false
	}
	h.refs[h.nRef] = ref
	h.nRef++
	return ref.Buffer(), ref.Offset(), true
}

var errNotForWorker = fmt.Errorf("compute: %w: not for the worker", gpu.ErrUnsupported)

// columnView is a column as a task's argument.
func (e *engine) columnView(c *column, h *held) (v gpu.View, err error) {
	var ok bool
	if c.typ != msl.NoType {
		if v.Buf, v.Off, ok = e.view(c.valueBuf, h); !ok {
			return v, errNotForWorker
		}
		width := max(widths[c.typ], 4)
		if c.typ == msl.Bool {
			if c.off%32 != 0 {
				return v, errNotForWorker
			}
			v.Off += c.off / 8
		} else {
			v.Off += c.off * width
		}
		if v.Off%width != 0 {
			return v, errNotForWorker
		}
	}
	if !c.valid.All() {
		var off int
		if v.Valid, off, ok = e.view(c.validBuf, h); !ok {
			return v, errNotForWorker
		}
		v.ValidOff = 8*off + c.valid.Off
	}
	return v, nil
}

// onWorker runs a call on the worker that takes it, if one does and does not fail.
func (c *call) onWorker(ctx context.Context, args []Datum) (out Datum, ok bool, err error) {
	e, w := c.worker(ctx, args)
	if w == nil {
		return nil, false, nil
	}
	out, err = e.runWorker(ctx, w, c, args)
	switch {
	case err == nil:
		countRun(c.fn.name, e.info.Driver, rowsOf(args))
	case isUsers(err):
	default:
		if !errors.Is(err, gpu.ErrUnsupported) && !errors.Is(err, gpu.ErrClosed) { // resident mode may just have ended
			e.fellBack(ctx, c.fn.name, err)
		}
		return nil, false, nil
	}
	return out, true, err
}

// runWorker has a worker do a call.
func (e *engine) runWorker(ctx context.Context, w gpu.Worker, c *call, args []Datum) (Datum, error) {
	r := workerRuns.Get().(*workerRun)
	defer r.release()
	tasks := r.tasks[:]
	t := &tasks[0]
	t.Op, t.Type, t.N = c.work.op, c.work.typ, int(args[0].Len())
	for i, a := range args {
		typ := c.work.typ
		switch {
		case c.rowsOnly:
			typ = msl.NoType
		case c.work.op == gpu.WorkerFilter && i == 1:
			typ = msl.Bool
		}
		if s, ok := a.(*ac.ScalarDatum); ok {
			col, err := scalarColumn(s.Value, typ, false)
			if err != nil {
				return nil, err
			}
			t.Literal = literalOf(&col)
			continue
		}
		col, err := columnOf(a.(*ac.ArrayDatum).Value, typ, false)
		if err != nil {
			return nil, err
		}
		v, err := e.columnView(&col, &r.held)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			t.A = v
		} else {
			t.B = v
		}
	}
	switch {
	case t.Op <= gpu.WorkerCount:
		if err := w.Do(ctx, tasks); err != nil {
			return nil, err
		}
		return c.work.finish(t), nil
	case t.Op <= gpu.WorkerGreaterEqual:
		return c.workBits(ctx, w, tasks)
	}
	return e.workElements(ctx, w, c, tasks)
}

// literalOf is a scalar's value in the low bits, integers with their sign.
func literalOf(c *column) uint64 {
	b := c.values[c.off*widths[c.typ]:]
	switch {
	case widths[c.typ] == 8:
		return binary.LittleEndian.Uint64(b)
	case c.typ == msl.I32:
		return uint64(int64(int32(binary.LittleEndian.Uint32(b))))
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

// bitWords keeps the words that workers answer comparisons with.
var bitWords = sync.Pool{New: func() any { return new([]uint32) }}

// workBits runs a comparison, whose bits come as words.
func (c *call) workBits(ctx context.Context, w gpu.Worker, tasks []gpu.Task) (Datum, error) {
	t := &tasks[0]
	words := bitWords.Get().(*[]uint32)
	defer bitWords.Put(words)
	if n := (t.N + 31) / 32; cap(*words) < n {
		*words = make([]uint32, n)
	}
	t.Bits = (*words)[:(t.N+31)/32]
	if err := w.Do(ctx, tasks); err != nil {
		return nil, err
	}
	out, err := newBuffer(GetAllocator(ctx), (t.N+7)/8)
	if err != nil {
		return nil, allocatorError{err}
	}
	defer out.Release()
	copy(out.Bytes(), arrow.Uint32Traits.CastToBytes(t.Bits))
	return datumOfBuffer(c.out, t.N, out), nil
}

func datumOfBuffer(t arrow.DataType, n int, values *arrowmem.Buffer) Datum {
	return &ac.ArrayDatum{Value: array.NewData(t, n, []*arrowmem.Buffer{nil, values}, nil, 0, 0)}
}

// workElements runs arithmetic or a filter, whose elements the worker writes to memory that the host sees: the caller's if
// the device sees that, else the engine's, from where they are copied.
func (e *engine) workElements(ctx context.Context, w gpu.Worker, c *call, tasks []gpu.Task) (Datum, error) {
	t := &tasks[0]
	width := widths[t.Type]
	r := recorder{e: e, ctx: ctx, out: GetAllocator(ctx)}
	var out *arrowmem.Buffer
	var err error
	if r.visible() {
		if out, err = newBuffer(r.out, max(t.N*width, 16)); err != nil {
			return nil, allocatorError{err}
		}
		if ref, ok := memory.Lookup(out.Bytes()); !ok || ref.Device() != e.dev {
			out.Release()
			out = nil
		}
	}
	if out == nil {
		if out, err = e.mem.NewBuffer(max(t.N*width, 16)); err != nil {
			return nil, err
		}
	}
	defer out.Release()
	var h held
	defer h.release()
	var ok bool
	if t.Out.Buf, t.Out.Off, ok = e.view(out, &h); !ok {
		return nil, errNotForWorker
	}
	if err := w.Do(ctx, tasks); err != nil {
		return nil, err
	}
	if t.Result.Failed {
		return nil, fmt.Errorf("%w: overflow", arrow.ErrInvalid)
	}
	n := t.N
	if t.Op == gpu.WorkerFilter {
		if n = t.Result.Rows; n > t.N {
			return nil, fmt.Errorf("%w: a filter of %d rows kept %d", errImpossible, t.N, n)
		}
	}
	values, err := r.handOut(out, n*width)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	return datumOfBuffer(c.work.out, n, values), nil
}

// tryWorker is try for a worker: the same hostile and mild rows, in device memory.
func (e *engine) tryWorker(ctx context.Context, w gpu.Worker, c *call, k admitKey) error {
	ctx = WithDevice(WithAllocator(context.WithoutCancel(ctx), arrowmem.DefaultAllocator), e.dev)
	for _, hostile := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(11, uint64(k.in)))
		args := make([]Datum, c.fn.arity.NArgs)
		for i := range args {
			arr := testColumn(rng, c.ins[i], hostile, i == 0 && k.nulls&1 != 0, 0)
			defer arr.Release()
			if c.work.op == gpu.WorkerFilter && i == 0 { // which moves any type of its width
				data := array.NewData(c.out, arr.Len(), arr.Data().Buffers(), nil, 0, 0)
				defer data.Release()
				arr = array.MakeFromData(data)
				defer arr.Release()
			}
			col, err := ToDevice(ctx, arr)
			if err != nil {
				return err
			}
			defer col.Release()
			args[i] = NewDatumWithoutOwning(arr)
		}
		want, wantErr := c.onCPU(ctx, args)
		if wantErr == nil {
			defer want.Release()
		}
		got, err := e.runWorker(ctx, w, c, args)
		switch {
		case wantErr != nil && err != nil && isUsers(err):
		case wantErr == nil && err == nil:
			defer got.Release()
			if err := equal.Datums(got, want); err != nil {
				return fmt.Errorf("%s: worker and CPU differ: %w", c.fn.name, err)
			}
		case err != nil && !isUsers(err) && !errors.Is(err, errImpossible):
			return err
		default:
			return fmt.Errorf("%s: worker and CPU differ: worker error %v, CPU error %v", c.fn.name, err, wantErr)
		}
	}
	return nil
}
