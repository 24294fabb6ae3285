package compute

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"
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

// castOnce casts. Dictionary scalars are looked up here, since arrow-go cannot cast one whose dictionary is empty, and
// chunks are cast one by one, since arrow-go loses nulls of chunks that are slices.
func castOnce(ctx context.Context, d ac.Datum, t arrow.DataType, safe bool) (out ac.Datum, err error) {
	opts := ac.NewCastOptions(t, safe)
	ctx, failed := guarded(ctx)
	defer func() {
		if e := failed(); e != nil {
			if out != nil {
				out.Release()
			}
			out, err = nil, e
		}
	}()
	switch v := d.(type) {
	case *ac.ScalarDatum:
		if !v.Value.IsValid() {
			return ac.NewDatum(scalar.MakeNullScalar(t)), nil
		}
		if dict, ok := v.Value.(*scalar.Dictionary); ok {
			s, err := dict.GetEncodedValue()
			if err != nil {
				return nil, err
			}
			return ac.NewDatum(s), nil
		}
	case *ac.ChunkedDatum:
		chunks := make([]arrow.Array, 0, len(v.Value.Chunks()))
		defer func() {
			for _, c := range chunks {
				c.Release()
			}
		}()
		for _, c := range v.Value.Chunks() {
			out, err := ac.CastArray(ctx, c, opts)
			if err != nil {
				return nil, err
			}
			chunks = append(chunks, out)
		}
		return &ac.ChunkedDatum{Value: arrow.NewChunked(t, chunks)}, nil
	}
	return ac.CastDatum(ctx, d, opts)
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
