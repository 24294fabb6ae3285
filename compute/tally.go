package compute

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// tally is the state of a reduction on the CPU. States of disjoint rows merge in any order to the same answer.
type tally struct {
	rows, valid int
	sum         uint64     // integers, wrapping; true rows of Bool
	wide        cpu.Int128 // integers, for means
	exact       cpu.Exact  // floats
	min, max    uint64     // order-preserving keys
	numbers     int        // valid rows that are not NaN, behind min and max
	col         column     // the column being reduced, kept here because kernels are called through pointers
}

// tallies holds a reduction for each element type.
type tallies [msl.F64 + 1]func(t *tally, c *column)

// reductions are the CPU kernels, by the names of aggPlan.reduction.
var reductions = map[string]tallies{
	msl.OpCount: {msl.Bool: func(*tally, *column) {}},
	msl.OpBool:  {msl.Bool: tallyBool},
	msl.OpSum: {
		msl.I8: tallySum[int8], msl.I16: tallySum[int16], msl.I32: tallySum[int32], msl.I64: tallySum[int64],
		msl.U8: tallySum[uint8], msl.U16: tallySum[uint16], msl.U32: tallySum[uint32], msl.U64: tallySum[uint64],
	},
	msl.OpMean: {
		msl.I8: tallyWide[int8], msl.I16: tallyWide[int16], msl.I32: tallyWide[int32], msl.I64: tallyWide[int64],
		msl.U8: tallyWide[uint8], msl.U16: tallyWide[uint16], msl.U32: tallyWide[uint32], msl.U64: tallyWide[uint64],
	},
	msl.OpMinMax: {
		msl.I8: tallyExtremes[int8], msl.I16: tallyExtremes[int16], msl.I32: tallyExtremes[int32], msl.I64: tallyExtremes[int64],
		msl.U8: tallyExtremes[uint8], msl.U16: tallyExtremes[uint16], msl.U32: tallyExtremes[uint32], msl.U64: tallyExtremes[uint64],
		msl.F32: tallyExtremes[float32], msl.F64: tallyExtremes[float64],
	},
	exact: {
		msl.F32: func(t *tally, c *column) { t.exact.AddFloat32s(view[float32](c.data(0), c.n), c.valid) },
		msl.F64: func(t *tally, c *column) { t.exact.AddFloat64s(view[float64](c.data(0), c.n), c.valid) },
	},
}

func tallyBool(t *tally, c *column) {
	values := c.bits()
	for i := 0; i < c.n; i += 64 {
		t.sum += uint64(bits.OnesCount64(values.Word(i, c.n) & c.valid.Word(i, c.n)))
	}
}

func tallySum[T cpu.Integer](t *tally, c *column) {
	t.sum += cpu.SumInt(view[T](c.data(0), c.n), c.valid)
}

func tallyWide[T cpu.Integer](t *tally, c *column) {
	t.wide = t.wide.Add(cpu.SumInt128(view[T](c.data(0), c.n), c.valid))
}

func tallyExtremes[T cpu.Number](t *tally, c *column) {
	e := cpu.MinMax(view[T](c.data(0), c.n), c.valid)
	if e.N > 0 {
		t.extremes(keyOf(e.Min), keyOf(e.Max), e.N)
	}
}

func (t *tally) extremes(lo, hi uint64, n int) {
	if t.numbers == 0 {
		t.min, t.max = lo, hi
	}
	t.min, t.max, t.numbers = min(t.min, lo), max(t.max, hi), t.numbers+n
}

// add takes the rows of a column in.
func (t *tally) add(f func(*tally, *column), c *column) {
	t.rows += c.n
	t.valid += cpu.CountValid(c.valid, c.n)
	if c.n > 0 {
		f(t, c)
	}
}

func (t *tally) merge(o *tally) {
	t.rows += o.rows
	t.valid += o.valid
	t.sum += o.sum
	t.wide = t.wide.Add(o.wide)
	t.exact.Merge(&o.exact)
	if o.numbers > 0 {
		t.extremes(o.min, o.max, o.numbers)
	}
}

// keyOf maps a value to a uint64 that orders as the values do, -0 before 0.
func keyOf[T cpu.Number](v T) uint64 {
	switch x := any(v).(type) {
	case float32:
		return floatKey(math.Float64bits(float64(x)))
	case float64:
		return floatKey(math.Float64bits(x))
	case uint8, uint16, uint32, uint64:
		return uint64(v)
	}
	return uint64(int64(v)) ^ 1<<63
}

func floatKey(bits uint64) uint64 {
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// ofKey is the value whose key is k, for an element type, in a scalar of type t.
func ofKey(in msl.Type, k uint64, t arrow.DataType) scalar.Scalar {
	switch {
	case isFloat(in):
		bits := ^k
		if k>>63 != 0 {
			bits = k &^ (1 << 63)
		}
		return floatScalar(in, math.Float64frombits(bits))
	case isUnsigned(in):
		return integerScalar(t, k)
	}
	return integerScalar(t, k^1<<63)
}

func floatScalar(in msl.Type, v float64) scalar.Scalar {
	if in == msl.F32 {
		return scalar.NewFloat32Scalar(float32(v))
	}
	return scalar.NewFloat64Scalar(v)
}

// value finishes an aggregate. The aggregate's null rule has been applied: the answer is valid.
func (t *tally) value(name string, p *aggPlan) scalar.Scalar {
	switch name {
	case "any":
		return scalar.NewBooleanScalar(t.sum > 0)
	case "all":
		return scalar.NewBooleanScalar(t.sum == uint64(t.valid))
	case "mean":
		return scalar.NewFloat64Scalar(t.total(p) / float64(t.valid))
	case "sum":
		if p.reduction == exact {
			return scalar.NewFloat64Scalar(t.exact.Round())
		}
		return integerScalar(p.out, t.sum)
	}
	return t.extreme(name == "max", p, p.out)
}

// total is the sum as a float64, rounded once.
func (t *tally) total(p *aggPlan) float64 {
	switch p.reduction {
	case exact:
		return t.exact.Round()
	case msl.OpMean:
		return t.wide.Float64()
	}
	return float64(t.sum)
}

func (t *tally) extreme(largest bool, p *aggPlan, out arrow.DataType) scalar.Scalar {
	switch {
	case p.reduction == msl.OpBool:
		if largest {
			return scalar.NewBooleanScalar(t.sum > 0)
		}
		return scalar.NewBooleanScalar(t.sum == uint64(t.valid))
	case t.numbers == 0:
		return floatScalar(p.in, math.NaN())
	case largest:
		return ofKey(p.in, t.max, out)
	}
	return ofKey(p.in, t.min, out)
}
