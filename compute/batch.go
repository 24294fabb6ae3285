package compute

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
)

// Batch records calls and runs them as one submission with one wait. On a device the results of its calls feed each
// other there: their lengths need not come back in between. On the CPU the same calls run one after the other.
//
// Many batches can be under way; none of them costs a goroutine on a device. A device that has graphs of commands (CUDA)
// launches as one what comes again and again with the same kernels and lengths.
//
// A Batch is used by one goroutine, runs once, and is released in the end. Recording never fails: an error shows at Run.
type Batch struct {
	ctx     context.Context
	nodes   []*Value
	spare   []Value // for the next calls
	owned   []Datum // arguments made here
	held    []*kept // arguments that lie on a device
	err     error
	started bool
	pending *Pending
	r       *recorder
	rows    []int64  // of each call, once the device has done them
	home    []*Value // whose results the host gets

	mu       sync.Mutex // results and released
	released bool
	freeing  bool // columns take their results
}

// Value is the pending result of a recorded call. It is an argument of later calls of the same Batch, and a Datum once
// the batch has run.
type Value struct {
	batch *Batch
	name  string
	opts  FunctionOptions
	args  []any // Datum, *kept or *Value
	call  *call // resolved for types; nil: the engine has no kernel
	typ   arrow.DataType
	form  form
	known bool // typ and form are
	nulls bool // the result may have nulls
	used  bool // by another call

	nullArgs [maxInputs]bool // space of resolve
	in       [maxInputs]*value
	argSpace [maxInputs]any

	onDevice *value
	kept     *kept // the result, if the device alone has it
	result   Datum
	column   *Column // of a kept result
}

var (
	errBatchStarted  = fmt.Errorf("%w: the batch has been started", arrow.ErrInvalid)
	errBatchReleased = fmt.Errorf("%w: the batch was released", arrow.ErrInvalid)
	errBatchPending  = fmt.Errorf("%w: the batch has not run to its end", arrow.ErrInvalid)
)

// NewBatch begins a batch. The context chooses device and allocator, and cancels the waiting for it (not the work).
func NewBatch(ctx context.Context) *Batch { return &Batch{ctx: ctx} }

// Call records a call of a function by name and returns its pending result. Arguments are arrays, datums, kept columns,
// pending results of this batch, and Go values, which become scalars. Arguments are retained until the batch is
// released.
func (b *Batch) Call(name string, opts FunctionOptions, args ...any) *Value {
	v := b.value()
	v.batch, v.name, v.opts = b, name, opts
	if v.args = v.argSpace[:]; len(args) > len(v.args) {
		v.args = make([]any, len(args))
	}
	v.args = v.args[:len(args)]
	if err := b.closed(); err != nil {
		b.fail(v, err)
		return v
	}
	b.nodes = append(b.nodes, v)
	for i, a := range args {
		arg, err := b.argument(a)
		if err != nil {
			b.fail(v, err)
			return v
		}
		v.args[i] = arg
	}
	if err := v.resolve(); err != nil {
		b.fail(v, err)
	}
	return v
}

// value is a new one; they come in groups that grow.
func (b *Batch) value() *Value {
	if len(b.spare) == 0 {
		b.spare = make([]Value, min(max(len(b.nodes), 1), 16))
	}
	v := &b.spare[0]
	b.spare = b.spare[1:]
	return v
}

// closed says why nothing can be recorded any more.
func (b *Batch) closed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.released:
		return errBatchReleased
	case b.started:
		return errBatchStarted
	}
	return nil
}

// fail notes the first error of the batch.
func (b *Batch) fail(v *Value, err error) {
	if b.err == nil {
		b.err = fmt.Errorf("batch: %s: %w", v.name, err)
	}
}

// argument checks a pending result, or makes a datum of anything but kept columns, which the batch releases.
func (b *Batch) argument(a any) (any, error) {
	switch x := a.(type) {
	case *Value:
		if x == nil || x.batch != b {
			return nil, fmt.Errorf("%w: an argument is the result of another batch", arrow.ErrInvalid)
		}
		x.used = true
		return x, nil
	case *Column:
		if x == nil {
			break
		}
		d, k, err := x.argument()
		if k != nil {
			b.held = append(b.held, k)
			return k, nil
		}
		if err == nil {
			b.owned = append(b.owned, d)
		}
		return d, err
	}
	d, err := datumOf(b.ctx, a)
	if err == nil {
		b.owned = append(b.owned, d)
	}
	return d, err
}

// datumOf is a datum of an array, a datum, a kept column or a Go value, to be released. arrow-go panics on values that
// it knows no scalar for.
func datumOf(ctx context.Context, a any) (d Datum, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: a %T as an argument: %v", arrow.ErrInvalid, a, p)
		}
	}()
	switch x := a.(type) {
	case nil:
		return nil, fmt.Errorf("%w: an argument is nil", arrow.ErrInvalid)
	case *Column:
		if x == nil {
			return nil, fmt.Errorf("%w: an argument is nil", arrow.ErrInvalid)
		}
		return x.take(ctx)
	case Datum:
		if isNil(x) {
			return nil, fmt.Errorf("%w: an argument is nil or was released", arrow.ErrInvalid)
		}
		return retained(x)
	}
	return ac.NewDatum(a), nil
}

// retained is a datum of the same data that lives until it is released, whatever the caller releases.
func retained(d Datum) (out Datum, err error) {
	switch v := d.(type) {
	case *ac.ArrayDatum:
		out = ac.NewDatum(v.Value)
	case *ac.ChunkedDatum:
		out = ac.NewDatum(v.Value)
	case *ac.ScalarDatum:
		out = ac.NewDatum(v.Value)
	case *ac.RecordDatum:
		out = ac.NewDatum(v.Value)
	case *ac.TableDatum:
		out = ac.NewDatum(v.Value)
	default:
		return nil, fmt.Errorf("%w: a %s as an argument", arrow.ErrNotImplemented, d.Kind())
	}
	return out, nil
}

// resolve finds out a call's kernel and the type of its result, as far as the types of its arguments are known.
func (v *Value) resolve() error {
	f, ok := find(v.batch.ctx, v.name)
	if !ok {
		return fmt.Errorf("%w: function '%s' not found", arrow.ErrKey, v.name)
	}
	own, ok := f.(*function)
	if !ok || own.whole != nil {
		return nil
	}
	if err := own.checkArity(len(v.args)); err != nil {
		return err
	}
	key := callKey{}
	var cached bool
	key.opts, cached = keyOfOptions(v.opts)
	for i, a := range v.args {
		t, f := typeOf(a)
		if t == nil {
			return nil
		}
		v.form = max(v.form, f)
		cached = cached && key.argument(i, t)
	}
	var c *call
	if cached {
		c = own.cache.get(&key)
	}
	if c == nil {
		var err error
		if c, err = v.resolveAnew(own); c == nil || err != nil {
			return err
		}
		if cached {
			own.cache.put(key, c)
		}
	}
	v.call, v.typ, v.known = c, c.out, true
	nulls := v.nullArgs[:0]
	for _, a := range v.args {
		nulls = append(nulls, mayBeNull(a))
	}
	v.nulls = c.nulls(nulls)
	if own.kind == ac.FuncScalarAgg {
		v.form = formScalar
	}
	return nil
}

// typeOf is the type and form of an argument, nil while they are not known.
func typeOf(a any) (arrow.DataType, form) {
	switch x := a.(type) {
	case *Value:
		if x.known {
			return x.typ, x.form
		}
	case *kept:
		return x.v.typ, x.v.form
	case ArrayLikeDatum:
		f, _ := formOf(x)
		return x.Type(), f
	}
	return nil, formScalar
}

// resolveAnew resolves the call by the function's tables; nil: the engine has no kernel.
func (v *Value) resolveAnew(own *function) (*call, error) {
	types := make([]arrow.DataType, len(v.args))
	for i, a := range v.args {
		types[i], _ = typeOf(a)
	}
	c, err := own.resolve(v.opts, types)
	if errors.Is(err, errNoKernel) {
		if own.base == nil {
			return nil, own.noKernel(types)
		}
		return nil, nil
	}
	return c, err
}

// Keep makes the result of a call stay on the device as a column, an argument of later batches. It is called before the
// batch runs; the column is there once it has, and outlives the batch. A device with memory of its own then has the only
// copy, as [Column] says, unless its budget ([SetDeviceBudget]) has no room for it.
func (b *Batch) Keep(v *Value) *Column {
	if v == nil || v.batch != b {
		v = &Value{batch: b, name: "Keep"}
		b.fail(v, fmt.Errorf("%w: Keep of the result of another batch", arrow.ErrInvalid))
	}
	if err := b.closed(); err != nil {
		b.fail(v, err)
	}
	if v.column == nil {
		v.column = &Column{from: v}
	}
	return v.column
}

// Datum is the result of a call, after its batch has run and before it is released. The caller releases it.
func (v *Value) Datum() (Datum, error) {
	b := v.batch
	if b == nil {
		return nil, errBatchPending
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return v.datum()
}

// datum is Datum under the batch's lock.
func (v *Value) datum() (Datum, error) {
	p := v.batch.pending
	switch {
	case v.batch.released && !v.batch.freeing:
		return nil, errBatchReleased
	case p == nil || !p.ended():
		return nil, errBatchPending
	case p.err != nil:
		return nil, p.err
	}
	if v.result == nil {
		if err := v.fetch(); err != nil {
			return nil, err
		}
	}
	if v.result == nil {
		return nil, errBatchPending
	}
	return retained(v.result)
}

// Release gives back arguments and results. Datums and kept columns that were taken out live on. A batch under way is
// released when it has ended.
func (b *Batch) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released {
		return
	}
	b.released = true
	if b.pending == nil || b.pending.ended() {
		b.free()
	}
}

// free lets go of everything but kept columns, which take their results.
func (b *Batch) free() {
	for _, d := range b.owned {
		d.Release()
	}
	for _, k := range b.held {
		k.release()
	}
	b.owned, b.held = nil, nil
	b.freeing = true
	for _, v := range b.nodes {
		if v.column != nil && v.result != nil {
			v.column.fill(v)
		}
	}
	b.freeing = false
	b.dropResults()
	b.dropRecorder()
}
