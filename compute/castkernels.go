package compute

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// castOps are the casts between numbers, and between them and Bool, by the type of the result: those that convert
// whatever the value, and those that fail where it does not survive.
var castOps = [2][msl.F64 + 1]op{castRows(false), castRows(true)}

func castRows(checked bool) (rows [msl.F64 + 1]op) {
	kernels := [...]blockKernels{
		msl.Bool: castToBool(),
		msl.I8:   castTo[int8](checked), msl.I16: castTo[int16](checked),
		msl.I32: castTo[int32](checked), msl.I64: castTo[int64](checked),
		msl.U8: castTo[uint8](checked), msl.U16: castTo[uint16](checked),
		msl.U32: castTo[uint32](checked), msl.U64: castTo[uint64](checked),
		msl.F32: castTo[float32](checked), msl.F64: castTo[float64](checked),
	}
	for t := range kernels {
		rows[t] = op{name: msl.OpCast, arity: 1, cross: crossMap, long: true, cpu: kernels[t], gpu: msl.Expr{Value: "cast_wrap(a)"}}
		if checked {
			rows[t].name, rows[t].fail = "cast_checked", (*plan).misfit
			rows[t].gpu = msl.Expr{Value: "cast_checked(a, bad)", Fails: true}
		}
	}
	return rows
}

// castTo holds the casts from each type to O.
func castTo[O cpu.Number](checked bool) blockKernels {
	k := integers(
		castLoop[O, int8](checked), castLoop[O, int16](checked), castLoop[O, int32](checked), castLoop[O, int64](checked),
		castLoop[O, uint8](checked), castLoop[O, uint16](checked), castLoop[O, uint32](checked), castLoop[O, uint64](checked),
	).and(castLoop[O, float32](checked), castLoop[O, float64](checked))
	k[msl.Bool] = func(b *block) cpu.Status {
		out := view[O](b.out, b.n)
		for i := range out {
			out[i] = O(b.in[0].words[i/64] >> (i % 64) & 1)
		}
		return 0
	}
	return k
}

func castLoop[O, I cpu.Number](checked bool) blockKernel {
	if checked {
		return func(b *block) cpu.Status { return cpu.CastChecked(castOut[O](b), view[I](b.in[0].values, b.n)) }
	}
	return func(b *block) cpu.Status {
		cpu.CastWrap(castOut[O](b), view[I](b.in[0].values, b.n))
		return 0
	}
}

// castOut is the block's output with a capacity up to the end of the column.
func castOut[O cpu.Number](b *block) []O {
	return view[O](b.out, len(b.out)/int(unsafe.Sizeof(O(0))))[:b.n]
}

// castToBool holds the casts to Bool: what is not zero is true, NaN as well.
func castToBool() blockKernels {
	return integers(notZero[int8](), notZero[int16](), notZero[int32](), notZero[int64](),
		notZero[uint8](), notZero[uint16](), notZero[uint32](), notZero[uint64](),
	).and(notZero[float32](), notZero[float64]())
}

func notZero[T cpu.Number]() blockKernel {
	return func(b *block) cpu.Status {
		cpu.CompareTo(cpu.IsNotEqual, b.ow, view[T](b.in[0].values, b.n), 0)
		return 0
	}
}

// canFail says whether values of one type can be lost in a cast to another.
func canFail(from, to msl.Type) bool {
	switch {
	case from == msl.Bool || to == msl.Bool || isFloat(from) && isFloat(to):
		return false
	case isFloat(from):
		return true
	case isFloat(to):
		return 8*widths[from] > wholeBits(to)
	case isUnsigned(from):
		return widths[to] < widths[from] || widths[to] == widths[from] && !isUnsigned(to)
	}
	return isUnsigned(to) || widths[to] < widths[from]
}

// wholeBits: a float type has every integer up to this power of two.
func wholeBits(t msl.Type) int {
	if t == msl.F32 {
		return 24
	}
	return 53
}

// misfit is the error of a checked cast, in arrow-go's words: the first valid value that did not survive.
func (p *plan) misfit(o *op, r *run) error {
	c := &r.cols[0]
	for row := range r.n {
		if !c.valid.All() && !c.valid.Bit(row) {
			continue
		}
		var out [8]byte
		at := row * c.stride
		b := block{n: 1, out: out[:]}
		b.in[0].values = c.data(at)
		if o.cpu[p.in](&b) == 0 {
			continue
		}
		if isFloat(p.in) {
			return fmt.Errorf("%w: float value %f was truncated converting to %s", arrow.ErrInvalid, boxed(c, at), p.out)
		}
		low, high := castRange(p.in, p.result())
		return fmt.Errorf("%w: integer value %d not in range: %d to %d", arrow.ErrInvalid, boxed(c, at), low, high)
	}
	return fmt.Errorf("%w: a value does not fit %s", arrow.ErrInvalid, p.out)
}

// boxed is one value of a column: an int64, a uint64 or a float64.
func boxed(c *column, row int) any {
	b := c.data(row)
	switch c.typ {
	case msl.I8:
		return int64(view[int8](b, 1)[0])
	case msl.I16:
		return int64(view[int16](b, 1)[0])
	case msl.I32:
		return int64(view[int32](b, 1)[0])
	case msl.I64:
		return view[int64](b, 1)[0]
	case msl.U8:
		return uint64(b[0])
	case msl.U16:
		return uint64(view[uint16](b, 1)[0])
	case msl.U32:
		return uint64(view[uint32](b, 1)[0])
	case msl.U64:
		return view[uint64](b, 1)[0]
	case msl.F32:
		return float64(view[float32](b, 1)[0])
	}
	return view[float64](b, 1)[0]
}

// castRange are the least and the greatest integer of one type that survive in another.
func castRange(from, to msl.Type) (low int64, high uint64) {
	low, high = integerRange(from)
	toLow, toHigh := int64(0), uint64(0)
	if isFloat(to) {
		toHigh = 1 << wholeBits(to)
		toLow = -int64(toHigh)
	} else {
		toLow, toHigh = integerRange(to)
	}
	return max(low, toLow), min(high, toHigh)
}

func integerRange(t msl.Type) (low int64, high uint64) {
	high = ^uint64(0) >> (64 - 8*widths[t])
	if isUnsigned(t) {
		return 0, high
	}
	high >>= 1
	return -int64(high) - 1, high
}
