package compute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// function makes an element-wise op a function.
func (o *op) function() *function {
	arity := Arity{NArgs: o.arity}
	if o.more {
		arity = ac.VarArgs(1)
	}
	return &function{
		kind: ac.FuncScalar, arity: arity, doc: o.doc, elementWise: true,
		resolve: o.resolveWith,
	}
}

// resolveWith resolves a call with options.
func (o *op) resolveWith(opts FunctionOptions, in []arrow.DataType) (*call, error) {
	if o.variant != nil {
		name, err := o.variant(opts, in)
		if err != nil {
			return nil, err
		}
		return opNamed(name).resolve(nil, in)
	}
	if o.options == nil {
		if err := noOptions(o.name, opts); err != nil {
			return nil, err
		}
	}
	switch {
	case len(in) < o.arity:
		return o.same(in[0]), nil
	case len(in) > maxArgs:
		return o.inParts(in)
	}
	c, err := o.resolve(opts, in)
	if errors.Is(err, errNoKernel) && o.any != nil {
		return o.any(o, in)
	}
	return c, err
}

// same gives back the only argument of a function that takes more.
func (o *op) same(t arrow.DataType) *call {
	return &call{
		out: t, nulls: o.mayBeNull, cross: o.cross, noGPU: "there is nothing to compute",
		cpu: func(_ context.Context, args []Datum) (Datum, error) { return retained(args[0]) },
	}
}

// inParts calls the function with the first arguments, then with that result and the others.
func (o *op) inParts(in []arrow.DataType) (*call, error) {
	first, err := o.resolveWith(nil, in[:maxArgs])
	if err != nil {
		return nil, err
	}
	rest, err := o.resolveWith(nil, append([]arrow.DataType{first.out}, in[maxArgs:]...))
	if err != nil {
		return nil, err
	}
	return &call{
		out: rest.out, nulls: o.mayBeNull, cross: o.cross, noGPU: fmt.Sprintf("a device takes %d arguments at most", maxArgs),
		cpu: func(ctx context.Context, args []Datum) (Datum, error) {
			before, err := first.onCPU(ctx, args[:maxArgs])
			if err != nil {
				return nil, err
			}
			defer before.Release()
			return rest.onCPU(ctx, append([]Datum{before}, args[maxArgs:]...))
		},
	}, nil
}

func (o *op) resolve(opts FunctionOptions, in []arrow.DataType) (*call, error) {
	if c := resolveStrings(o.name, in); c != nil {
		return c, nil
	}
	p, err := o.types(in)
	if err != nil {
		return nil, err
	}
	if o.options != nil {
		if err := o.options(opts, p); err != nil {
			return nil, err
		}
	}
	if o.cpu[p.in] == nil {
		return nil, errNoKernel
	}
	c := &call{
		casts: p.casts, rounds: p.rounds, out: p.out, in: p.in, cross: o.cross,
		admit: admitKey{op: o.name, in: p.in, out: p.result(), validity: p.validity},
		nulls: o.mayBeNull,
		cpu:   func(ctx context.Context, args []Datum) (Datum, error) { return o.fold(ctx, p, args) },
	}
	for i := range max(o.inputs(p), len(in)) {
		c.ins[i] = o.typeOf(p, min(i, o.inputs(p)-1))
	}
	if p.narrow != nil {
		c.out = p.narrow
	}
	easy := c.easyCasts(p, in)
	if easy {
		c.fuse(o, p)
	}
	switch {
	case o.gpu.Value == "":
		c.noGPU = "no GPU kernel"
	case !easy:
		c.noGPU = fmt.Sprintf("%s needs a cast, which has no GPU kernel", typeList(in))
	default:
		c.gpu = func(r *recorder, args []*value) (*value, error) {
			args, err := c.recordCasts(r, args)
			if err != nil {
				return nil, err
			}
			args, err = r.bind(c, p, args)
			if err != nil {
				return nil, err
			}
			return o.foldOn(r, p, args)
		}
		if plain := len(p.bound) == 0 && c.dicts == ([maxArgs]msl.Type{}) && len(p.casts[0])+len(p.casts[1]) == 0; plain {
			c.work = workerCall{op: workerOps[o.name], typ: p.in, out: p.out}
		}
	}
	return c, nil
}

// mayBeNull says whether the result may have nulls, by whether the arguments may.
func (o *op) mayBeNull(args []bool) bool {
	switch o.nulls {
	case never:
		return false
	case every:
		return !slices.Contains(args, false)
	}
	return slices.Contains(args, true)
}

func typeList(in []arrow.DataType) string {
	s := in[0].String()
	for _, t := range in[1:] {
		s += " with " + t.String()
	}
	return s
}

// fold runs the op on the CPU, over and over where there are more arguments than inputs.
func (o *op) fold(ctx context.Context, p *plan, args []Datum) (Datum, error) {
	if len(args) <= o.arity {
		return o.execute(ctx, p, args)
	}
	if _, _, release, err := runsOfArgs(args); err != nil {
		return nil, err
	} else {
		release()
	}
	out, err := o.execute(ctx, p, args[:2])
	for _, next := range args[2:] {
		if err != nil {
			return nil, err
		}
		before := out
		out, err = o.execute(ctx, p, []Datum{before, next})
		before.Release()
	}
	return out, err
}

// execute runs the op on the CPU.
func (o *op) execute(ctx context.Context, p *plan, args []Datum) (Datum, error) {
	r := runs.Get().(*run)
	defer r.recycle()
	var forms [maxInputs]form
	for i, a := range args {
		var err error
		switch v := a.(type) {
		case *ac.ArrayDatum:
			r.cols[i], err = columnOf(v.Value, o.columnType(p, i, a), p.validity)
			forms[i] = formArray
		case *ac.ScalarDatum:
			r.cols[i], err = scalarColumn(v.Value, o.typeOf(p, i), p.validity)
		default:
			return o.executeChunks(ctx, p, args)
		}
		if err != nil {
			return nil, err
		}
	}
	for i, s := range p.bound {
		var err error
		if r.cols[len(args)+i], err = scalarColumn(s, o.typeOf(p, len(args)+i), false); err != nil {
			return nil, err
		}
	}
	f, err := r.measure(forms, len(args))
	if err != nil {
		return nil, err
	}
	d, err := o.runMap(ctx, p, r)
	if err != nil {
		return nil, err
	}
	if err := p.inRange(d.Value); err != nil {
		d.Release()
		return nil, err
	}
	if f == formArray {
		return p.narrowed(ctx, d)
	}
	defer d.Release()
	return p.narrowed(ctx, assemble(p.out, f, []arrow.ArrayData{d.Value}))
}

// executeChunks runs the op run by run.
func (o *op) executeChunks(ctx context.Context, p *plan, args []Datum) (Datum, error) {
	cols, forms := make([][]column, o.inputs(p)), make([]form, o.inputs(p))
	for i, s := range p.bound {
		c, err := scalarColumn(s, o.typeOf(p, len(args)+i), false)
		if err != nil {
			return nil, err
		}
		cols[len(args)+i] = []column{c}
	}
	for i, a := range args {
		var err error
		if cols[i], err = columnsOf(a, o.columnType(p, i, a), p.validity); err != nil {
			return nil, err
		}
		forms[i], _ = formOf(a)
	}
	runs, f, err := alignRuns(cols, forms)
	if err != nil {
		return nil, err
	}
	out := make([]arrow.ArrayData, 0, len(runs))
	defer func() {
		for _, d := range out {
			d.Release()
		}
	}()
	for i := range runs {
		d, err := o.runMap(ctx, p, &runs[i])
		if err != nil {
			return nil, err
		}
		out = append(out, d.Value)
		if err := p.inRange(d.Value); err != nil {
			return nil, err
		}
	}
	return p.narrowed(ctx, assemble(p.out, f, out))
}

// inRange checks a result against the plan's limit.
func (p *plan) inRange(d arrow.ArrayData) error {
	if p.limit == 0 || d.Len() == 0 {
		return nil
	}
	c, err := columnOf(d, msl.I64, false)
	if err != nil {
		return err
	}
	e := cpu.MinMax(view[int64](c.data(0), c.n), c.valid)
	if bad := e.Min; e.N > 0 && (e.Min < 0 || e.Max >= p.limit) {
		if bad >= 0 {
			bad = e.Max
		}
		return fmt.Errorf("%w: %d is not within acceptable range of [0, %d)", arrow.ErrInvalid, bad, p.limit)
	}
	return nil
}

// narrowed casts a result to the type that the plan ends with.
func (p *plan) narrowed(ctx context.Context, d Datum) (Datum, error) {
	if p.narrow == nil {
		return d, nil
	}
	defer d.Release()
	return castAll(ctx, d, []arrow.DataType{arrow.PrimitiveTypes.Int32, p.narrow}, false)
}

// assemble makes a datum of chunks, in the form that the arguments ask for. It takes no ownership.
func assemble(t arrow.DataType, f form, chunks []arrow.ArrayData) Datum {
	switch f {
	case formArray:
		return ac.NewDatum(chunks[0])
	case formScalar:
		arr := array.MakeFromData(chunks[0])
		defer arr.Release()
		s, err := scalar.GetScalar(arr, 0)
		if err != nil {
			panic(err) // every storage type has a scalar
		}
		return &ac.ScalarDatum{Value: s}
	}
	arrs := make([]arrow.Array, len(chunks))
	for i, d := range chunks {
		arrs[i] = array.MakeFromData(d)
		defer arrs[i].Release()
	}
	return &ac.ChunkedDatum{Value: arrow.NewChunked(t, arrs)}
}
