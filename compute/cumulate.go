package compute

import (
	"context"
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// cumulation is a cumulative sum over a type.
type cumulation struct {
	op      string // msl's
	in      msl.Type
	checked bool
	stops   bool // a null ends the sum
	opts    *CumulativeOptions
	start   uint64 // the bits of the value before the first row, sign-extended
	kernel  cumulateKernel
}

// cumulateKernel writes the sums of a column's rows and returns the last of them.
type cumulateKernel func(out []byte, c *column, start uint64, workers int) (uint64, cpu.Status)

var cumulateKernels = [...]cumulateKernel{
	msl.I8: cumulateInts[int8], msl.I16: cumulateInts[int16], msl.I32: cumulateInts[int32], msl.I64: cumulateInts[int64],
	msl.U8: cumulateInts[uint8], msl.U16: cumulateInts[uint16], msl.U32: cumulateInts[uint32], msl.U64: cumulateInts[uint64],
	msl.F32: cumulateFloats[float32], msl.F64: cumulateFloats[float64],
}

func cumulateInts[T cpu.Integer](out []byte, c *column, start uint64, workers int) (uint64, cpu.Status) {
	last, st := cpu.CumulateInts(view[T](out, c.n), view[T](c.data(0), c.n), c.valid, T(start), workers)
	return uint64(last), st
}

func cumulateFloats[T cpu.Float](out []byte, c *column, start uint64, _ int) (uint64, cpu.Status) {
	from := binary.LittleEndian.AppendUint64(nil, start)
	last := []T{cpu.CumulateFloats(view[T](out, c.n), view[T](c.data(0), c.n), c.valid, view[T](from, 1)[0])}
	clear(from)
	copy(view[T](from, 1), last)
	return binary.LittleEndian.Uint64(from), 0
}

// cumulativeFunction is cumulative_sum or cumulative_sum_checked.
func cumulativeFunction(op string) *function {
	return &function{arity: Arity{NArgs: 1}, resolve: func(opts FunctionOptions, in []arrow.DataType) (*call, error) {
		o, err := optionsOf(op, opts, func() *CumulativeOptions { return &CumulativeOptions{} })
		if err != nil {
			return nil, err
		}
		return resolveCumulation(op, o, in[0])
	}}
}

func resolveCumulation(op string, o *CumulativeOptions, t arrow.DataType) (*call, error) {
	s := storage(t)
	if !isNumeric(t) || cumulateKernels[s] == nil {
		return nil, errNoKernel
	}
	k := &cumulation{op: op, in: s, checked: op == msl.OpCumulativeSumChecked, stops: !o.SkipNulls, opts: o, kernel: cumulateKernels[s]}
	if err := k.startAt(o.Start, t); err != nil {
		return nil, err
	}
	c := &call{
		out: t, in: s, ins: [maxArgs]msl.Type{s}, cross: crossMap, arraysOnly: true,
		admit: admitKey{op: op, in: s, skipNulls: o.SkipNulls},
		nulls: func(args []bool) bool { return args[0] },
		cpu:   k.onCPU,
	}
	if isFloat(s) {
		c.noGPU = "sums of floats depend on the order of the additions"
		return c, nil
	}
	c.gpu = func(r *recorder, args []*value) (*value, error) { return k.record(r, args[0]) }
	return c, nil
}

// startAt reads the option Start, with arrow-go's errors.
func (k *cumulation) startAt(s scalar.Scalar, t arrow.DataType) error {
	if s == nil || reflect.ValueOf(s).Kind() == reflect.Pointer && reflect.ValueOf(s).IsNil() {
		return nil
	}
	if !s.IsValid() {
		return fmt.Errorf("%w: cumulative sum start value must be valid", arrow.ErrInvalid)
	}
	if !arrow.TypeEqual(s.DataType(), t) {
		d, err := ac.CastDatum(context.Background(), ac.NewDatumWithoutOwning(s), ac.SafeCastOptions(t))
		if err != nil {
			return fmt.Errorf("%w: cannot cast cumulative sum start value to %s: %v", arrow.ErrInvalid, t, err)
		}
		defer d.Release()
		s = d.(*ScalarDatum).Value
	}
	data := s.(scalar.PrimitiveScalar).Data()
	var word [8]byte
	if n := copy(word[:], data); isSigned(k.in) && n < 8 && word[n-1]&0x80 != 0 {
		for i := n; i < 8; i++ {
			word[i] = 0xff
		}
	}
	k.start = binary.LittleEndian.Uint64(word[:])
	return nil
}

// isSigned says whether an element type is a signed integer.
func isSigned(t msl.Type) bool { return t >= msl.I8 && t <= msl.I64 }

// onCPU sums array or chunks; the result has a chunk for each that is not empty.
func (k *cumulation) onCPU(ctx context.Context, args []Datum) (Datum, error) {
	f, _ := formOf(args[0])
	if f == formScalar {
		return callArrow(ctx, builtin[k.op], k.opts, args)
	}
	cols, err := columnsOf(args[0], k.in, false)
	if err != nil {
		return nil, err
	}
	var out []arrow.ArrayData
	defer func() {
		for _, d := range out {
			d.Release()
		}
	}()
	sum, ended := k.start, false
	for i := range cols {
		if cols[i].n == 0 && f == formChunked {
			continue
		}
		d, err := k.column(ctx, &cols[i], args[0].(ArrayLikeDatum).Type(), &sum, &ended)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return assemble(args[0].(ArrayLikeDatum).Type(), f, out), ctx.Err()
}

// column sums one chunk from where the one before ended.
func (k *cumulation) column(ctx context.Context, c *column, t arrow.DataType, sum *uint64, ended *bool) (arrow.ArrayData, error) {
	mem := GetAllocator(ctx)
	values, err := newBuffer(mem, c.n*widths[k.in])
	if err != nil {
		return nil, err
	}
	defer values.Release()
	rows := c.n // those before a null that ends the sum
	if k.stops {
		if rows = cpu.FirstNull(c.valid, c.n); *ended {
			rows = 0
		}
		*ended = rows < c.n
	}
	part := c.slice(0, rows)
	if k.stops {
		part.valid = cpu.Bitmap{}
	}
	if rows > 0 {
		var st cpu.Status
		if *sum, st = k.kernel(values.Bytes(), &part, *sum, workersOf(ctx)); st != 0 && k.checked {
			return nil, statusError(st)
		}
	}
	clear(values.Bytes()[rows*widths[k.in]:])
	if rows == c.n && part.valid.All() {
		return array.NewData(t, c.n, []*arrowmem.Buffer{nil, values}, nil, 0, 0), nil
	}
	valid, err := newBuffer(mem, (c.n+7)/8)
	if err != nil {
		return nil, err
	}
	defer valid.Release()
	copyBits(valid.Bytes(), part.valid, rows)
	return array.NewData(t, c.n, []*arrowmem.Buffer{valid, values}, nil, array.UnknownNullCount, 0), nil
}

// copyBits writes n bits of a bitmap, and zeros behind them.
func copyBits(dst []byte, b cpu.Bitmap, n int) {
	clear(dst)
	var words [64]uint64
	for i := 0; i < n; i += 64 * len(words) {
		k := min(64*len(words), n-i)
		for w := range (k + 63) / 64 {
			words[w] = b.Word(i+64*w, n)
		}
		cpu.PutWords(dst[i/8:], words[:], k)
	}
}

// CumulativeSum adds up the rows: each row of the result is opts.Start (0 if nil) plus the sum of the rows up to it.
// Values are integers or floats, as an array or chunks; sums go on from chunk to chunk, and the result has the values'
// type and length, chunks that are empty left out.
//
// With SkipNulls a null adds nothing and is null in the result; else every row from the first null on is null. Integers
// wrap around. Floats are added in the order of the rows, each sum rounded; a NaN stays. Start is cast safely to the
// values' type, or arrow.ErrInvalid, as is a null Start. Other types are arrow.ErrNotImplemented. The result belongs to
// the caller.
//
// The GPU is used for integers from the crossover on.
func CumulativeSum(ctx context.Context, opts CumulativeOptions, values Datum) (Datum, error) {
	return CallFunction(ctx, msl.OpCumulativeSum, &opts, values)
}

// CumulativeSumChecked is [CumulativeSum], but a sum of integers that does not fit their type is arrow.ErrInvalid.
func CumulativeSumChecked(ctx context.Context, opts CumulativeOptions, values Datum) (Datum, error) {
	return CallFunction(ctx, msl.OpCumulativeSumChecked, &opts, values)
}
