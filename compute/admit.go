package compute

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/equal"
	"github.com/broadhead-go/broadhead/msl"
)

// admitRows is the length of the columns that admission computes: some simdgroups, some tiles of words, and a tail.
const admitRows = 1013

// admit lets a call run on the device if its kernels gave the CPU's answer on hostile rows, which is tried the first
// time that each variant is used in a process.
func (e *engine) admit(ctx context.Context, c *call, args []Datum) error {
	return e.admitKey(ctx, c, c.admitKeyFor(args))
}

// admitKeyFor adds to a call's key which inputs have nulls, since that chooses other kernels.
func (c *call) admitKeyFor(args []Datum) admitKey {
	k := c.admit
	k.args, k.few = len(args), c.few(args)
	if !k.validity {
		for i, a := range args {
			if hasNulls(a) {
				k.nulls |= 1 << i
			}
		}
	}
	return k
}

func hasNulls(d Datum) bool {
	if s, ok := d.(*ac.ScalarDatum); ok {
		return !s.Value.IsValid()
	}
	if a, ok := d.(*ac.ArrayDatum); ok {
		dict := dictionaryOf(a.Value)
		return a.Value.NullN() != 0 || dict != nil && dict.NullN() != 0
	}
	for _, c := range chunksOf(d) {
		if c.NullN() != 0 {
			return true
		}
		if dict := dictionaryOf(c); dict != nil && dict.NullN() != 0 {
			return true
		}
	}
	return false
}

// try compares device and CPU on hostile values, where checked calls must fail on both or neither, and on mild ones,
// where they succeed.
func (e *engine) try(ctx context.Context, c *call, k admitKey) error {
	ctx = WithAllocator(context.WithoutCancel(ctx), arrowmem.DefaultAllocator)
	if c.trial != nil {
		var err error
		if c, err = c.trial(); err != nil {
			return err
		}
	}
	for _, hostile := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(7, uint64(k.in)))
		args := make([]Datum, k.args)
		for i := range args {
			nulls := k.nulls>>i&1 != 0 || k.validity
			arr := testColumn(rng, c.ins[i], hostile, nulls, 3+6*int64(i))
			defer arr.Release()
			if index := k.dicts[i]; index != msl.NoType {
				arr = testDictionary(rng, arr, index)
				defer arr.Release()
			}
			args[i] = NewDatumWithoutOwning(arr)
		}
		want, wantErr := c.onCPU(ctx, args)
		got, err := e.record(ctx, c, args, c.one != nil && !k.few)
		switch {
		case wantErr != nil && err != nil && isUsers(err):
			continue
		case wantErr == nil && err == nil:
			if err := equal.Datums(got, want); err != nil {
				return fmt.Errorf("%s: device and CPU differ: %w", c.fn.name, err)
			}
		case errors.Is(err, errImpossible):
			return fmt.Errorf("%s: device and CPU differ: %w", c.fn.name, err)
		case err != nil && !isUsers(err):
			return err
		default:
			return fmt.Errorf("%s: device and CPU differ: device error %v, CPU error %v", c.fn.name, err, wantErr)
		}
	}
	return nil
}

// testDictionary is a dictionary array over the first values of an array.
func testDictionary(rng *rand.Rand, values arrow.Array, index msl.Type) arrow.Array {
	dict := array.NewSlice(values, 0, 100)
	defer dict.Release()
	b := array.NewBuilder(arrowmem.DefaultAllocator, plainTypes[index])
	defer b.Release()
	for range values.Len() {
		if values.NullN() > 0 && rng.IntN(8) == 0 {
			b.AppendNull()
		} else if err := b.AppendValueFromString(strconv.Itoa(rng.IntN(100))); err != nil {
			panic(err) // every integer type holds 0 to 99
		}
	}
	at := b.NewArray()
	defer at.Release()
	t := &arrow.DictionaryType{IndexType: at.DataType(), ValueType: dict.DataType()}
	return array.NewDictionaryArray(t, at, dict)
}

// testColumn is a slice, at an odd offset, of random rows among which the special values of the type are frequent.
func testColumn(rng *rand.Rand, t msl.Type, hostile, nulls bool, offset int64) arrow.Array {
	n := int(offset) + admitRows
	b := array.NewBuilder(arrowmem.DefaultAllocator, plainTypes[t])
	defer b.Release()
	for range n {
		if nulls && rng.IntN(4) == 0 {
			b.AppendNull()
			continue
		}
		appendRandom(b, rng, hostile)
	}
	arr := b.NewArray()
	defer arr.Release()
	return array.NewSlice(arr, offset, offset+admitRows)
}

// plainTypes are the types that are stored as themselves.
var plainTypes = [...]arrow.DataType{
	msl.Bool: arrow.FixedWidthTypes.Boolean,
	msl.I8:   arrow.PrimitiveTypes.Int8, msl.I16: arrow.PrimitiveTypes.Int16,
	msl.I32: arrow.PrimitiveTypes.Int32, msl.I64: arrow.PrimitiveTypes.Int64,
	msl.U8: arrow.PrimitiveTypes.Uint8, msl.U16: arrow.PrimitiveTypes.Uint16,
	msl.U32: arrow.PrimitiveTypes.Uint32, msl.U64: arrow.PrimitiveTypes.Uint64,
	msl.F32: arrow.PrimitiveTypes.Float32, msl.F64: arrow.PrimitiveTypes.Float64,
}

var (
	hostileInts   = []uint64{0, 1, ^uint64(0), 1 << 63, 1<<63 - 1, 1<<31 - 1, 1 << 31, 1<<15 - 1, 0x80, 0x7f, 1 << 32}
	hostileFloats = []float64{
		0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64, 0x1p-1022, 0x1.fffffffffffffp-1023, math.MaxFloat32, 0x1p-126, 0x1.fffffcp-127, 0x1p-149, 0.1,
	}
)

// appendRandom appends one value; mild ones are between 1 and 8, so that nothing overflows.
func appendRandom(b array.Builder, rng *rand.Rand, hostile bool) {
	u, f := 1+rng.Uint64N(8), float64(1+rng.Uint64N(8))
	if hostile {
		u, f = rng.Uint64(), math.Float64frombits(rng.Uint64())
		if rng.IntN(2) == 0 {
			u, f = hostileInts[rng.IntN(len(hostileInts))], hostileFloats[rng.IntN(len(hostileFloats))]
		}
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(u&1 == 0)
	case *array.Int8Builder:
		b.Append(int8(u))
	case *array.Int16Builder:
		b.Append(int16(u))
	case *array.Int32Builder:
		b.Append(int32(u))
	case *array.Int64Builder:
		b.Append(int64(u))
	case *array.Uint8Builder:
		b.Append(uint8(u))
	case *array.Uint16Builder:
		b.Append(uint16(u))
	case *array.Uint32Builder:
		b.Append(uint32(u))
	case *array.Uint64Builder:
		b.Append(u)
	case *array.Float32Builder:
		b.Append(float32(f))
	case *array.Float64Builder:
		b.Append(f)
	}
}
