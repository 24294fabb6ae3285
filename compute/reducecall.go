package compute

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/selection"
	"github.com/broadhead-go/broadhead/msl"
)

// function makes an aggregate a function.
func (a *aggregate) function() *function {
	f := &function{kind: ac.FuncScalarAgg, arity: Arity{NArgs: 1}, doc: a.doc}
	f.opts = &defaultAggregate
	if a.name == "count" {
		f.opts = DefaultCountOptions()
	}
	f.resolve = func(opts FunctionOptions, in []arrow.DataType) (*call, error) {
		var err error
		s, mode := &ScalarAggregateOptions{SkipNulls: true}, CountOnlyValid
		if a.name == "count" {
			var o *CountOptions
			if o, err = optionsOf(a.name, opts, DefaultCountOptions); err == nil {
				mode = o.Mode
				if mode > CountAll {
					err = fmt.Errorf("%w: count has no mode %d", arrow.ErrInvalid, mode)
				}
			}
		} else {
			s, err = optionsOf(a.name, opts, DefaultScalarAggregateOptions)
		}
		if err != nil {
			return nil, err
		}
		return a.resolve(in[0], s, mode)
	}
	return f
}

func (a *aggregate) resolve(t arrow.DataType, opts *ScalarAggregateOptions, mode CountMode) (*call, error) {
	p, err := a.types(t)
	if err != nil {
		return nil, err
	}
	kernels := reductions[p.reduction]
	p.kernel = kernels[p.in]
	c := &call{
		nulls: func([]bool) bool { return a.name != "count" },
		out:   p.out, in: p.in, ins: [maxArgs]msl.Type{p.in}, cross: a.cross,
		admit:    admitKey{op: a.name, in: p.in, mode: mode, skipNulls: opts.SkipNulls},
		rowsOnly: p.reduction == msl.OpCount,
	}
	c.cpu = func(ctx context.Context, args []Datum) (Datum, error) {
		t := tallyPool.Get().(*tally)
		defer t.recycle()
		if err := p.tally(ctx, t, args[0]); err != nil {
			return nil, err
		}
		if a.name == "count" {
			return ac.NewDatumWithoutOwning(t.count(mode)), nil
		}
		return ac.NewDatumWithoutOwning(a.answer(t, p, opts)), nil
	}
	if p.allNull {
		c.noGPU = "nothing to compute: every row is null"
		return c, nil
	}
	c.one = a.oneGroup(p, opts, mode)
	c.gpu = func(r *recorder, args []*value) (*value, error) { return a.record(r, p, opts, mode, c.one, args[0]) }
	c.work = a.work(p, opts, mode)
	return c, nil
}

// tallyPool keeps tallies, which are large for the sake of exact sums.
var tallyPool = sync.Pool{New: func() any { return new(tally) }}

func (t *tally) recycle() {
	*t = tally{}
	tallyPool.Put(t)
}

// tally reduces a datum on the CPU.
func (p *aggPlan) tally(ctx context.Context, t *tally, d Datum) error {
	if p.allNull {
		t.rows = int(d.Len())
		return nil
	}
	if p.reduction == msl.OpCount {
		return t.countDatum(d)
	}
	if a, ok := d.(*ac.ArrayDatum); ok {
		var err error
		if t.col, err = columnOf(a.Value, p.in, false); err != nil {
			return err
		}
		return reduceColumn(ctx, p, t, &t.col, workersOf(ctx))
	}
	cols, err := columnsOf(d, p.in, false)
	if err != nil {
		return err
	}
	for i := range cols {
		if err := reduceColumn(ctx, p, t, &cols[i], workersOf(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// countDatum counts rows of any type by their validity.
func (t *tally) countDatum(d Datum) error {
	if s, ok := d.(*ac.ScalarDatum); ok {
		t.rows = 1
		if s.Value.IsValid() {
			t.valid = 1
		}
		return nil
	}
	for _, c := range chunksOf(d) {
		if err := selection.CheckRows(c); err != nil {
			return err
		}
		t.rows += c.Len()
		t.valid += c.Len() - nullsOf(c)
	}
	return nil
}

// nullsOf counts the nulls of array data whose number may not be known.
func nullsOf(d arrow.ArrayData) int {
	if d.DataType().ID() == arrow.NULL {
		return d.Len()
	}
	b := d.Buffers()
	if len(b) == 0 || b[0] == nil || b[0].Len() == 0 {
		return 0
	}
	if n := d.NullN(); n != array.UnknownNullCount {
		return min(n, d.Len())
	}
	return d.Len() - cpu.CountValid(cpu.Bitmap{Data: b[0].Bytes(), Off: d.Offset()}, d.Len())
}
