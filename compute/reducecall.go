package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
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
	c := &call{
		nulls: func(bool, bool) bool { return a.name != "count" },
		out:   p.out, in: p.in, ins: [2]msl.Type{p.in}, cross: a.cross,
		admit: admitKey{
			op: a.name, in: p.in, mode: mode, skipNulls: opts.SkipNulls,
			validity: p.reduction == msl.OpCount,
		},
	}
	c.cpu = func(ctx context.Context, args []Datum) (Datum, error) {
		t, err := p.tally(ctx, args[0])
		if err != nil {
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
	c.gpu = func(r *recorder, args []*value) (*value, error) { return a.record(r, p, opts, mode, args[0]) }
	return c, nil
}

// tally reduces a datum on the CPU.
func (p *aggPlan) tally(ctx context.Context, d Datum) (*tally, error) {
	if p.allNull {
		return &tally{rows: int(d.Len())}, nil
	}
	if p.reduction == msl.OpCount {
		return tallyCount(d), nil
	}
	cols, err := columnsOf(d, p.in, false)
	if err != nil {
		return nil, err
	}
	return reduceColumns(ctx, p, cols, workersOf(ctx))
}

// tallyCount counts rows of any type by their validity.
func tallyCount(d Datum) *tally {
	t := new(tally)
	if s, ok := d.(*ac.ScalarDatum); ok {
		t.rows = 1
		if s.Value.IsValid() {
			t.valid = 1
		}
		return t
	}
	for _, c := range chunksOf(d) {
		t.rows += c.Len()
		t.valid += c.Len() - nullsOf(c)
	}
	return t
}

// nullsOf counts the nulls of array data whose number may not be known.
func nullsOf(d arrow.ArrayData) int {
	n := d.NullN()
	if n != array.UnknownNullCount {
		return n
	}
	if b := d.Buffers(); len(b) > 0 && b[0] != nil && b[0].Len() > 0 {
		return d.Len() - cpu.CountValid(cpu.Bitmap{Data: b[0].Bytes(), Off: d.Offset()}, d.Len())
	}
	return 0
}
