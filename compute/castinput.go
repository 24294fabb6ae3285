package compute

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// castAll passes a datum through casts, in order; if there are any, the result must be released in the end. Casts are
// safe, except that those to float64 may round where the call says so.
func castAll(ctx context.Context, d ac.Datum, types []arrow.DataType, rounds bool) (ac.Datum, error) {
	owned := false
	for _, t := range types {
		next, err := castOnce(ctx, d, t, !rounds || t.ID() != arrow.FLOAT64)
		if owned {
			d.Release()
		}
		if err != nil {
			return nil, err
		}
		d, owned = next, true
	}
	return d, nil
}

func castOnce(ctx context.Context, d ac.Datum, t arrow.DataType, safe bool) (ac.Datum, error) {
	return castWith(ctx, d, ac.NewCastOptions(t, safe))
}

// fuse lets the CPU cast arrays of numbers block by block, so that they are read once, where that is all there is to do.
func (c *call) fuse(o *op, p *plan) {
	fused, some := *p, false
	for i, casts := range c.deviceCasts {
		if len(casts) > 1 || len(casts) > 0 && c.dicts[i] != msl.NoType || i >= maxInputs {
			return
		}
		if len(casts) == 0 {
			if len(c.casts[i]) > 0 {
				return
			}
			continue
		}
		fused.fused[i], some = casts[0], true
	}
	if some {
		c.fused = func(ctx context.Context, args []Datum) (Datum, error) { return o.execute(ctx, &fused, args) }
	}
}

// castScalars casts scalars and runs the call over arrays that are not cast yet. The error is errMisfit where their casts
// fail.
func (c *call) castScalars(ctx context.Context, args []Datum) (Datum, error) {
	for i, a := range args {
		if a.Kind() != KindScalar || len(c.casts[i]) == 0 {
			continue
		}
		s, err := castAll(ctx, a, c.casts[i], c.rounds)
		if err != nil {
			return nil, err
		}
		defer s.Release()
		args = slices.Clone(args)
		args[i] = s
	}
	return c.fused(ctx, args)
}

// cast passes the arguments through the call's casts.
func (c *call) cast(ctx context.Context, args []Datum) (cast []Datum, release func(), err error) {
	if !slices.ContainsFunc(c.casts[:], func(s []arrow.DataType) bool { return len(s) > 0 }) {
		return args, func() {}, nil
	}
	var owned []Datum
	cast = append(cast, args...)
	for i, a := range args {
		if len(c.casts[i]) == 0 {
			continue
		}
		if cast[i], err = castAll(ctx, a, c.casts[i], c.rounds); err != nil {
			releaseAll(owned)
			return nil, nil, err
		}
		owned = append(owned, cast[i])
	}
	return cast, func() { releaseAll(owned) }, nil
}

// misfit is the status of a run in which a fused cast failed.
const misfit = cpu.Free

// convert casts a block of an argument, as far as it is valid, into the scratch that scalars are repeated in.
func (m *mapper) convert(s *scratch, i, row int) {
	f, in := &m.plan.fused[i], &s.in[i]
	one := block{n: s.n, out: bytesOfWords(s.scalars[i][:])}
	one.in[0].values = in.values
	if f.op.cpu[f.plan.in](&one) != 0 && f.loses(&m.run.cols[i], row, s.n) {
		m.status |= misfit
	}
	in.values = one.out
}

// loses says whether a cast fails at a valid value of some rows.
func (f *typeCast) loses(c *column, row, n int) bool {
	var out [1]uint64
	one := block{n: 1, out: bytesOfWords(out[:])}
	for i := row; i < row+n; i++ {
		one.in[0].values = c.data(i)
		if (c.valid.All() || c.valid.Bit(i)) && f.op.cpu[f.plan.in](&one) != 0 {
			return true
		}
	}
	return false
}
