package compute

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
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
