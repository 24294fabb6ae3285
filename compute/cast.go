package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/msl"
)

// castFunction is "cast": numbers and Bool by kernels of the engine's own, what is stored alike without a copy, all else
// by arrow-go.
func castFunction() *function {
	return &function{arity: ac.Unary(), elementWise: true, resolve: resolveCast}
}

func resolveCast(options FunctionOptions, in []arrow.DataType) (*call, error) {
	opts, err := optionsOf("cast", options, func() *CastOptions { return nil })
	if err != nil {
		return nil, err
	}
	if opts == nil || opts.ToType == nil {
		return nil, fmt.Errorf("%w: cast requires that options be passed with a ToType", arrow.ErrInvalid)
	}
	from, to := in[0], opts.ToType
	if c := ownCast(from, opts); c != nil {
		return c, nil
	}
	if castBy(from, to) == nil && !nestedAlike(from, to) && !ac.CanCast(from, to) {
		return nil, errNoKernel // arrow-go says so
	}
	kept := *opts
	return &call{
		out: to, noGPU: fmt.Sprintf("no kernel of ours casts %s to %s", from, to), passes: true,
		nulls: func([]bool) bool { return true },
		cpu:   func(ctx context.Context, args []Datum) (Datum, error) { return castWith(ctx, args[0], &kept) },
	}, nil
}

// ownCast is a cast without arrow-go, nil if there is none.
func ownCast(from arrow.DataType, opts *CastOptions) *call {
	to := opts.ToType
	switch {
	case arrow.TypeEqual(from, to):
		return sharingCast(from)
	case storedAlike(from, to):
		return sharingCast(to)
	case castable(from) && castable(to):
		return castCall(from, to, castFails(opts, storage(from), storage(to)))
	}
	return nil
}

// castable: the kernels' own matrix.
func castable(t arrow.DataType) bool { return isNumeric(t) || t.ID() == arrow.BOOL }

// castFails says whether a cast checks its values: options forgive integers that do not fit an integer type, and
// fractions or integers that a float cannot keep apart.
func castFails(o *CastOptions, from, to msl.Type) bool {
	if !canFail(from, to) {
		return false
	}
	if isFloat(from) || isFloat(to) {
		return !o.AllowFloatTruncate
	}
	return !o.AllowIntOverflow
}

// castCall is a cast by a kernel.
func castCall(from, to arrow.DataType, checked bool) *call {
	o := &castOps[btoi(checked)][storage(to)]
	p := &plan{in: storage(from), out: to}
	return &call{
		out: to, in: p.in, ins: [maxArgs]msl.Type{p.in}, cross: o.cross,
		gpu:   func(r *recorder, args []*value) (*value, error) { return o.record(r, p, args) },
		admit: admitKey{op: o.name, in: p.in, out: p.result()},
		nulls: func(args []bool) bool { return args[0] },
		cpu:   func(ctx context.Context, args []Datum) (Datum, error) { return o.execute(ctx, p, args) },
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sharingCast is a cast whose result has the argument's memory. A device does it in batches only, by a copy, so that the
// calls around it can stay there.
func sharingCast(to arrow.DataType) *call {
	t := storage(to)
	c := &call{
		out: to, in: t, ins: [maxArgs]msl.Type{t}, cross: crossMap, noGPU: "the result shares the argument's memory", shares: true,
		nulls: func(args []bool) bool { return args[0] },
		cpu:   func(_ context.Context, args []Datum) (Datum, error) { return relabelled(args[0], to) },
	}
	if t != msl.NoType {
		o, p := &castOps[0][t], &plan{in: t, out: to}
		c.gpu = func(r *recorder, args []*value) (*value, error) { return o.record(r, p, args) }
		c.admit = admitKey{op: o.name, in: t, out: t}
	}
	return c
}

// storedAlike says that a cast changes nothing but the type: instants under another zone, and temporal types and the
// integers that they are stored as.
func storedAlike(from, to arrow.DataType) bool {
	switch {
	case from.ID() == arrow.TIMESTAMP && to.ID() == arrow.TIMESTAMP:
		return sameValues(from, to)
	case from.ID() == arrow.INT32 || from.ID() == arrow.INT64:
		return isTemporal(to) && storage(from) == storage(to)
	case to.ID() == arrow.INT32 || to.ID() == arrow.INT64:
		return isTemporal(from) && storage(from) == storage(to)
	}
	return false
}

// relabelled is a datum under another type that is stored alike, or under its own.
func relabelled(d Datum, t arrow.DataType) (Datum, error) {
	if arrow.TypeEqual(d.(ArrayLikeDatum).Type(), t) {
		return retained(d)
	}
	switch v := d.(type) {
	case *ac.ArrayDatum:
		data := retype(v.Value, t)
		defer data.Release()
		return ac.NewDatum(data), nil
	case *ac.ChunkedDatum:
		chunks := make([]arrow.ArrayData, len(v.Value.Chunks()))
		for i, c := range v.Value.Chunks() {
			chunks[i] = retype(c.Data(), t)
			defer chunks[i].Release()
		}
		return assemble(t, formChunked, chunks), nil
	case *ac.ScalarDatum:
		if p, ok := v.Value.(scalar.PrimitiveScalar); ok && v.Value.IsValid() {
			return &ac.ScalarDatum{Value: scalarOfBytes(t, append([]byte(nil), p.Data()...), true)}, nil
		}
		return ac.NewDatum(scalar.MakeNullScalar(t)), nil
	}
	return nil, fmt.Errorf("%w: a cast of a %s", arrow.ErrNotImplemented, d.Kind())
}

// castBy is the type by way of which arrow-go v18.8.0 should cast what it gets wrong in one step: dictionaries of
// numbers, whose values the engine casts better, and decimals to int16, for which it has the kernel of int8.
func castBy(from, to arrow.DataType) arrow.DataType {
	if d, ok := from.(*arrow.DictionaryType); ok {
		if !arrow.TypeEqual(d.ValueType, to) && (castable(d.ValueType) && castable(to) || castBy(d.ValueType, to) != nil) {
			return d.ValueType
		}
	}
	if arrow.IsDecimal(from.ID()) && to.ID() == arrow.INT16 {
		return arrow.PrimitiveTypes.Int32
	}
	return nil
}

// castVia casts in two steps.
func castVia(ctx context.Context, d Datum, opts CastOptions, by, to arrow.DataType) (Datum, error) {
	opts.ToType = by
	mid, err := castWith(ctx, d, &opts)
	if err != nil {
		return nil, err
	}
	defer mid.Release()
	opts.ToType = to
	return castWith(ctx, mid, &opts)
}

// nullScalar is a null of a type that arrow-go has scalars of; it panics for others.
func nullScalar(t arrow.DataType) (d Datum, err error) {
	defer func() {
		if recover() != nil {
			d, err = nil, fmt.Errorf("%w: a scalar of type %s", arrow.ErrNotImplemented, t)
		}
	}()
	return ac.NewDatum(scalar.MakeNullScalar(t)), nil
}

// castWith casts on the CPU. Null scalars and scalars of dictionaries are done here: arrow-go cannot look one up whose
// dictionary is empty.
func castWith(ctx context.Context, d Datum, opts *CastOptions) (Datum, error) {
	if s, ok := d.(*ac.ScalarDatum); ok {
		if !s.Value.IsValid() {
			return nullScalar(opts.ToType)
		}
		if dict, ok := s.Value.(*scalar.Dictionary); ok {
			v, err := dict.GetEncodedValue()
			if err != nil {
				return nil, err
			}
			return castWith(ctx, &ac.ScalarDatum{Value: v}, opts)
		}
	}
	from := d.(ArrayLikeDatum).Type()
	if c := ownCast(from, opts); c != nil {
		return c.cpu(ctx, []Datum{d})
	}
	if by := castBy(from, opts.ToType); by != nil {
		return castVia(ctx, d, *opts, by, opts.ToType)
	}
	if d.Kind() != ac.KindScalar && nestedAlike(from, opts.ToType) {
		return castNested(ctx, d, opts)
	}
	return functions["cast"].(*function).passChunks(ctx, opts, []Datum{d})
}

// CastDatum casts a scalar, an array or a chunked array to opts.ToType.
//
// Between numbers of every width, and between them and Bool, the engine's own kernels work; a timestamp, date, time or
// duration and the integer that it is stored as share their memory, and so do timestamps of one unit; lists and structs
// cast their children; all else is arrow-go's.
//
// Nulls stay null, and what lies under them never fails, but for the children of null lists and structs, which are cast
// like others. Bool casts to 0 and 1; what is not zero casts to true, NaN as well. An integer that does not fit is an error (arrow.ErrInvalid) that names the first such value, or keeps its low
// bits with AllowIntOverflow. Without AllowFloatTruncate a float must be a whole number that fits, and an integer must lie
// within the 2^24 or 2^53 either side of zero to become a float32 or float64. With it fractions are cut off, floats
// beyond the integer's limits give the nearer limit, NaN gives 0, and integers round to the nearest float, ties to even.
// A float64 beyond float32 becomes an infinity.
//
// Nil options, or none with a type, are arrow.ErrInvalid; types without a cast are arrow.ErrNotImplemented.
//
// The GPU is used for numbers and Bool from the crossover on.
func CastDatum(ctx context.Context, val Datum, opts *CastOptions) (Datum, error) {
	return CallFunction(ctx, "cast", opts, val)
}

// CastArray is [CastDatum] for an array. The caller releases the result.
func CastArray(ctx context.Context, val arrow.Array, opts *CastOptions) (arrow.Array, error) {
	return callArrays(ctx, "cast", opts, val)
}

// CastToType is [CastArray] to a type, by safe casts.
func CastToType(ctx context.Context, val arrow.Array, toType arrow.DataType) (arrow.Array, error) {
	return CastArray(ctx, val, SafeCastOptions(toType))
}
