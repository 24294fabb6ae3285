package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/compute/exec"

	"github.com/broadhead-go/broadhead/msl"
)

// function is one of the engine's functions, as registries hold it. What it has no kernel for goes to arrow-go's
// function of the same name, base.
type function struct {
	name    string
	kind    FuncKind
	arity   Arity
	doc     FunctionDoc
	opts    FunctionOptions
	base    ac.Function
	cache   *callCache
	onCPU   *counters
	resolve func(opts FunctionOptions, in []arrow.DataType) (*call, error)
	// check looks at the arguments before anything else; nil: there is nothing to look at.
	check func(args []Datum) error
	// elementWise: each row of the result depends on that row of the arguments, dictionaries by value.
	elementWise bool
	// tables runs the function over record batches and tables; nil where it takes none.
	tables func(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error)
	// whole runs functions of the CPU that look at arguments of any kind as a whole; they have no resolve.
	whole func(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error)
}

// call is a function resolved for the types of its arguments: all but the data. It can be used many times.
type call struct {
	fn     *function
	casts  [maxArgs][]arrow.DataType
	rounds bool              // casts to float64 may round
	dicts  [maxArgs]msl.Type // index types of dictionaries that a device looks up itself; their cast is for the CPU
	// deviceCasts are the casts of the arguments where a device runs the call; casts are for the CPU.
	deviceCasts [maxArgs][]typeCast
	out         arrow.DataType
	in          msl.Type          // decides the width, hence the crossover
	ins         [maxArgs]msl.Type // element types that the kernel sees: of the arguments, then of what options bind
	cross       crossClass
	cpu         func(ctx context.Context, args []Datum) (Datum, error)
	fused       func(ctx context.Context, args []Datum) (Datum, error) // cpu without casts of arrays before it; nil: there is none
	gpu         gpuKernel                                              // nil: there is none, and noGPU says why
	noGPU       string
	admit       admitKey
	trial       func() (*call, error) // what admission runs instead; nil: the call itself
	work        workerCall
	one         *oneGroup // nil: there is none
	passes      bool      // to arrow-go in the end
	shares      bool      // the result shares the argument's memory, so that eager calls stay where they are
	// rowsOnly: the kernel looks at no values, only at how many rows there are and which are valid.
	rowsOnly   bool
	arraysOnly bool                   // a scalar is left to the CPU
	nulls      func(args []bool) bool // whether the result may have nulls, by whether the arguments may
}

// gpuKernel records a call over device values.
type gpuKernel func(r *recorder, args []*value) (*value, error)

func (f *function) Name() string                    { return f.name }
func (f *function) Kind() FuncKind                  { return f.kind }
func (f *function) Arity() Arity                    { return f.arity }
func (f *function) Doc() FunctionDoc                { return f.doc }
func (f *function) DefaultOptions() FunctionOptions { return f.opts }

// NumKernels counts arrow-go's kernels for the name; the engine's own are not exec.Kernels.
func (f *function) NumKernels() int {
	if f.base != nil {
		return f.base.NumKernels()
	}
	return 0
}

// DispatchExact gives arrow-go's kernel of the name, which arrow-go's expressions run on.
func (f *function) DispatchExact(in ...arrow.DataType) (exec.Kernel, error) {
	if f.base != nil {
		return f.base.DispatchExact(in...)
	}
	return nil, f.noKernel(in)
}

// DispatchBest is DispatchExact after arrow-go's implicit casts.
func (f *function) DispatchBest(in ...arrow.DataType) (exec.Kernel, error) {
	if f.base != nil {
		return f.base.DispatchBest(in...)
	}
	return nil, f.noKernel(in)
}

// Validate checks that the documentation names every argument.
func (f *function) Validate() error {
	if n := len(f.doc.ArgNames); f.doc.Summary != "" && n != f.arity.NArgs {
		return fmt.Errorf("%w: function '%s' documents %d arguments of %d", arrow.ErrInvalid, f.name, n, f.arity.NArgs)
	}
	return nil
}

func (f *function) noKernel(in []arrow.DataType) error {
	names := make([]string, len(in))
	for i, t := range in {
		names[i] = t.String()
	}
	return fmt.Errorf("%w: function '%s' has no kernel matching input types (%s)",
		arrow.ErrNotImplemented, f.name, strings.Join(names, ", "))
}

func (f *function) checkArity(n int) error {
	switch {
	case f.arity.IsVarArgs && n >= f.arity.NArgs:
	case f.arity.IsVarArgs:
		return fmt.Errorf("%w: function '%s' accepts %d arguments or more but %d passed", arrow.ErrInvalid, f.name, f.arity.NArgs, n)
	case n != f.arity.NArgs:
		return fmt.Errorf("%w: function '%s' accepts %d arguments but %d passed", arrow.ErrInvalid, f.name, f.arity.NArgs, n)
	}
	return nil
}

// checkArgs refuses a wrong number of arguments, and those that are nil or released.
func (f *function) checkArgs(args []Datum) error {
	if err := f.checkArity(len(args)); err != nil {
		return err
	}
	for i, a := range args {
		if isNil(a) {
			return fmt.Errorf("%w: function '%s': argument %d is nil or was released", arrow.ErrInvalid, f.name, i)
		}
	}
	return nil
}

func isNil(d Datum) bool {
	switch v := d.(type) {
	case nil:
		return true
	case *ac.ArrayDatum:
		return v == nil || v.Value == nil
	case *ac.ScalarDatum:
		return v == nil || v.Value == nil
	case *ac.ChunkedDatum:
		return v == nil || v.Value == nil
	case *ac.RecordDatum:
		return v == nil || v.Value == nil
	case *ac.TableDatum:
		return v == nil || v.Value == nil
	}
	return false
}

// Execute runs the function: on the device that dispatch chooses, else on the CPU, else by arrow-go.
func (f *function) Execute(ctx context.Context, opts FunctionOptions, args ...Datum) (out Datum, err error) {
	defer recoverMemory(&err)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := f.checkArgs(args); err != nil {
		return nil, err
	}
	key, cached := cacheKey(opts, args)
	if cached {
		if c := f.cache.get(&key); c != nil && (f.check == nil || f.check(args) == nil) {
			return c.run(ctx, args)
		}
	}
	c, out, err := f.prepare(ctx, opts, args)
	if c == nil {
		return out, err
	}
	if cached {
		f.cache.put(key, c)
	}
	return c.run(ctx, args)
}

// prepare resolves a call. Where the engine has no kernel it answers by other means.
func (f *function) prepare(ctx context.Context, opts FunctionOptions, args []Datum) (*call, Datum, error) {
	if f.whole != nil {
		out, err := f.runWhole(ctx, opts, args)
		return nil, out, err
	}
	types := make([]arrow.DataType, len(args))
	for i, a := range args {
		if k := a.Kind(); f.tables != nil && i == 0 && (k == ac.KindRecord || k == ac.KindTable) {
			out, err := f.tables(ctx, opts, args)
			return nil, out, err
		}
		al, ok := a.(ArrayLikeDatum)
		if !ok {
			return nil, nil, fmt.Errorf("%w: function '%s' does not take a %s", arrow.ErrNotImplemented, f.name, a.Kind())
		}
		types[i] = al.Type()
	}
	if f.check != nil {
		if err := f.check(args); err != nil {
			return nil, nil, err
		}
	}
	c, err := f.resolve(opts, types)
	if errors.Is(err, errNoKernel) {
		out, err := f.passOn(ctx, opts, args, types)
		return nil, out, err
	}
	return c, nil, err
}

// runWhole runs a function that looks at its arguments as a whole.
func (f *function) runWhole(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	out, err := f.whole(ctx, opts, args)
	switch {
	case err == nil:
		f.onCPU.add(rowsOf(args))
	case errors.Is(err, errNoKernel):
		types := make([]arrow.DataType, 0, len(args))
		for _, a := range args {
			if al, ok := a.(ArrayLikeDatum); ok {
				types = append(types, al.Type())
			}
		}
		return f.passOn(ctx, opts, args, types)
	}
	return out, err
}

// run runs the call where dispatch says; the CPU's arguments are cast first.
func (c *call) run(ctx context.Context, args []Datum) (Datum, error) {
	if out, ok, err := c.onWorker(ctx, args); ok {
		return out, err
	}
	var misfit error
	e := c.choose(ctx, args, nil)
	if e != nil {
		out, err := e.run(ctx, c, args)
		switch {
		case isMisfit(err):
			misfit = err
		case err == nil || isUsers(err):
			return out, err
		default:
			e.fellBack(ctx, c.fn.name, err)
		}
	}
	out, err := c.onCPU(ctx, args)
	switch {
	case err != nil:
		return nil, err
	case misfit != nil: // the device was wrong
		e.fellBack(ctx, c.fn.name, misfit)
	case c.passes:
		countRun(c.fn.name, arrowName, rowsOf(args))
	default:
		c.fn.onCPU.add(rowsOf(args))
	}
	return out, err
}

// onCPU runs the call on the CPU, its arguments cast.
func (c *call) onCPU(ctx context.Context, args []Datum) (Datum, error) {
	if c.fused != nil {
		out, err := c.castScalars(ctx, args)
		if !isMisfit(err) {
			return out, err
		}
	}
	args, release, err := c.cast(ctx, args)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.cpu(ctx, args)
}

// rowsOf is the number of rows of a call: those of its longest argument.
func rowsOf(args []Datum) int64 {
	var n int64
	for _, a := range args {
		n = max(n, a.Len())
	}
	return n
}

// rows is the number of rows that decide where a call runs: those of its longest argument, or of the indices of a take.
func (c *call) rows(args []Datum) int64 {
	if c.cross == crossTake {
		return args[1].Len()
	}
	return rowsOf(args)
}

// isUsers says that an error is the caller's (bad data, a cancelled context), which the CPU would give as well.
func isUsers(err error) bool {
	return errors.Is(err, arrow.ErrInvalid) || errors.Is(err, arrow.ErrNotImplemented) || errors.Is(err, arrow.ErrIndex) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
