package compute

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
	"github.com/broadhead-go/broadhead/msl"
)

var errCPUOnly = fmt.Errorf("%w: the context asks for the CPU", gpu.ErrNoDevice)

// engine is what compute keeps for one device: compiled kernels, memory, and which kernels have proved themselves.
type engine struct {
	dev       gpu.Device
	info      gpu.Info
	pipes     *gpu.Pipelines
	mem       *memory.Allocator
	admitted  gpu.Admission[admitKey]
	private   privatePool
	residents residents
	lost      atomic.Pointer[error]
	counted   onceCounters
	singles   sync.Pool // of *single
	slabs     slabPool
}

// admitKey names what admission tests: a call by its types and variants.
type admitKey struct {
	fn, op    string
	in, out   msl.Type
	args      int
	dicts     [maxArgs]msl.Type
	ins       [maxArgs]msl.Type
	rounds    bool
	nulls     uint8 // a bit for each argument that may have nulls
	validity  bool
	emit      bool
	skipNulls bool
	mode      CountMode
	few       bool                 // rows of an aggregate
	matching  NullMatchingBehavior // of a look-up
	setNull   bool                 // the set of a look-up has a null
}

var engines sync.Map // gpu.Device -> *engine

// engineOf is the engine of a device, made at first use.
func engineOf(dev gpu.Device) *engine {
	if e, ok := engines.Load(dev); ok {
		return e.(*engine)
	}
	e := &engine{dev: dev, info: dev.Info(), mem: memory.New(dev)}
	e.pipes = gpu.NewPipelines(dev, source)
	e.residents.budget = e.info.MemoryBytes / 2
	e.private.limit = e.info.MemoryBytes / 8
	have, _ := engines.LoadOrStore(dev, e)
	return have.(*engine)
}

// source is the text of a kernel, for the pipeline cache.
func source(k msl.Key) (gpu.Source, error) {
	name, text, err := msl.Text(k)
	return gpu.Source{Name: name, Text: text}, err
}

// lose notes that the device is gone, so that it is not tried again.
func (e *engine) lose(err error) {
	e.lost.CompareAndSwap(nil, &err)
	if errors.Is(err, gpu.ErrClosed) {
		engines.Delete(e.dev)
	}
}

// usable says why the device cannot be used, if it cannot.
func (e *engine) usable() error {
	if p := e.lost.Load(); p != nil {
		return *p
	}
	return nil
}

// run runs a call on the device. Errors that are not the user's mean that the CPU has to answer.
func (e *engine) run(ctx context.Context, c *call, args []Datum) (Datum, error) {
	if err := e.admit(ctx, c, args); err != nil {
		return nil, err
	}
	out, ok, err := e.single(ctx, c, args)
	if !ok {
		out, err = e.record(ctx, c, args, false)
	}
	if err == nil {
		e.countRun(c.fn.name, rowsOf(args))
	}
	return out, err
}

// record runs a call as a batch of one; many: aggregates as if there were many rows.
func (e *engine) record(ctx context.Context, c *call, args []Datum, many bool) (Datum, error) {
	r := e.newRecorder(ctx)
	r.many = many
	defer r.release()
	in := make([]*value, len(args))
	for i, a := range args {
		v, err := r.input(a, c, i)
		if err != nil {
			return nil, err
		}
		in[i] = v
	}
	out, err := c.gpu(r, in)
	if err != nil {
		return nil, err
	}
	if err := r.bringHome(out, false); err != nil {
		return nil, err
	}
	if err := r.finish(ctx); err != nil {
		return nil, err
	}
	if err := r.bringRest(ctx, out); err != nil {
		return nil, err
	}
	return r.datum(out)
}

// fellBack counts a call that the CPU had to answer for a device, and tells the log hook.
func (e *engine) fellBack(ctx context.Context, function string, err error) {
	if gone(err) && !errors.As(err, new(allocatorError)) {
		e.lose(err)
	}
	countFallback(ctx, function, e.info.Driver, err)
}

// gone says whether an error is a device's that cannot be used any more.
func gone(err error) bool {
	return errors.Is(err, gpu.ErrDeviceLost) || errors.Is(err, gpu.ErrClosed) || errors.Is(err, gpu.ErrTimeout)
}
