package compute

import (
	"context"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// reduceMorsel is some 20 microseconds of work, so that workers end together.
const reduceMorsel = 32 * 1024

// reduceColumn adds a column to a reduction on the CPU.
func reduceColumn(ctx context.Context, p *aggPlan, total *tally, c *column, workers int) error {
	bytes := bytesFor(p.in, c.n)
	if p.reduction == exact {
		bytes *= 2 // exact sums take longer
	}
	if bytes > aloneBytes && c.n > reduceMorsel {
		reduceParallel(ctx, p, total, *c, workers)
	} else {
		total.add(p.kernel, c)
	}
	return ctx.Err()
}

func reduceParallel(ctx context.Context, p *aggPlan, total *tally, c column, workers int) {
	parts := make([]tally, max(workers, 1))
	cpu.Parallel(c.n, reduceMorsel, workers, func(worker, start, end int) {
		if ctx.Err() == nil {
			part := c.slice(start, end-start)
			parts[worker].add(p.kernel, &part)
		}
	})
	for k := range parts {
		total.merge(&parts[k])
	}
}

// answer applies an aggregate's null rule and finishes it.
func (a *aggregate) answer(t *tally, p *aggPlan, opts *ScalarAggregateOptions) scalar.Scalar {
	nulls := t.rows - t.valid
	null := t.valid < int(opts.MinCount)
	switch a.name {
	case "any":
		null = null || !opts.SkipNulls && nulls > 0 && t.sum == 0
	case "all":
		null = null || !opts.SkipNulls && nulls > 0 && t.sum == uint64(t.valid)
	case "min", "max", "min_max":
		null = null || t.valid == 0 || !opts.SkipNulls && nulls > 0
	default:
		null = null || !opts.SkipNulls && nulls > 0
	}
	if a.name == "min_max" {
		return minMaxScalar(p, func(largest bool, typ arrow.DataType) scalar.Scalar {
			if null || p.allNull {
				return scalar.MakeNullScalar(typ)
			}
			return t.extreme(largest, p, typ)
		})
	}
	if null || p.allNull && a.name != "mean" && a.name != "sum" {
		return scalar.MakeNullScalar(p.out)
	}
	return t.value(a.name, p)
}

func minMaxScalar(p *aggPlan, field func(largest bool, typ arrow.DataType) scalar.Scalar) scalar.Scalar {
	st := p.out.(*arrow.StructType)
	return scalar.NewStructScalar([]scalar.Scalar{field(false, st.Field(0).Type), field(true, st.Field(1).Type)}, st)
}

// count answers the count aggregate.
func (t *tally) count(mode CountMode) scalar.Scalar {
	n := t.valid
	switch mode {
	case CountOnlyNull:
		n = t.rows - t.valid
	case CountAll:
		n = t.rows
	}
	return scalar.NewInt64Scalar(int64(n))
}

// integerScalar is the integer with these low bits, in any type stored as an integer.
func integerScalar(t arrow.DataType, v uint64) scalar.Scalar {
	switch t.ID() {
	case arrow.INT64:
		return scalar.NewInt64Scalar(int64(v))
	case arrow.UINT64:
		return scalar.NewUint64Scalar(v)
	}
	return scalarOfBytes(t, binary.LittleEndian.AppendUint64(nil, v), true)
}

// scalarOfBytes reads a fixed-width value (Bool: the lowest bit) as a scalar.
func scalarOfBytes(t arrow.DataType, value []byte, valid bool) scalar.Scalar {
	if !valid {
		return scalar.MakeNullScalar(t)
	}
	data := array.NewData(t, 1, []*arrowmem.Buffer{nil, arrowmem.NewBufferBytes(value)}, nil, 0, 0)
	defer data.Release()
	arr := array.MakeFromData(data)
	defer arr.Release()
	s, err := scalar.GetScalar(arr, 0)
	if err != nil {
		panic(err) // every storage type has a scalar
	}
	return s
}
