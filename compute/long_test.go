package compute_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
)

// longRows is more than several workers' morsels, with rows after the last whole word.
const longRows = 200_003

// longColumn has nulls, over values that overflow whatever they meet, unless none is asked for.
func longColumn(seed uint64, nulls bool, offset int64) *array.Int64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	values, valid := make([]int64, longRows+offset), make([]bool, longRows+offset)
	for i := range values {
		values[i], valid[i] = rng.Int64N(100), true
		if nulls && rng.IntN(1000) == 0 {
			values[i], valid[i] = math.MaxInt64, false
		}
	}
	b.AppendValues(values, valid)
	arr := b.NewArray()
	defer arr.Release()
	return array.NewSlice(arr, offset, longRows+offset).(*array.Int64)
}

// Columns of many morsels, where kernels read and write in place, give what a plain loop gives.
func TestLongColumns(t *testing.T) {
	for _, offset := range []int64{0, 3, 64} {
		for _, nulls := range []bool{false, true} {
			a, b := longColumn(1, nulls, offset), longColumn(2, nulls, 5)
			checkLong(t, a, b)
			a.Release()
			b.Release()
		}
	}
}

func checkLong(t *testing.T, a, b *array.Int64) {
	t.Helper()
	ctx := onCPU()
	fifty := compute.NewDatum(scalar.NewInt64Scalar(50))
	null := compute.NewDatum(scalar.MakeNullScalar(arrow.PrimitiveTypes.Int64))
	x, y := compute.NewDatumWithoutOwning(a), compute.NewDatumWithoutOwning(b)
	both := func(i int) bool { return a.IsValid(i) && b.IsValid(i) }
	for _, c := range []struct {
		name  string
		args  [2]compute.Datum
		valid func(i int) bool
		want  func(i int) any
	}{
		{"add", [2]compute.Datum{x, y}, both, func(i int) any { return a.Value(i) + b.Value(i) }},
		{"multiply", [2]compute.Datum{x, y}, both, func(i int) any { return a.Value(i) * b.Value(i) }},
		{"add", [2]compute.Datum{x, fifty}, a.IsValid, func(i int) any { return a.Value(i) + 50 }},
		{"greater", [2]compute.Datum{x, y}, both, func(i int) any { return a.Value(i) > b.Value(i) }},
		{"greater", [2]compute.Datum{x, fifty}, a.IsValid, func(i int) any { return a.Value(i) > 50 }},
		{"greater_equal", [2]compute.Datum{fifty, x}, a.IsValid, func(i int) any { return a.Value(i) <= 50 }},
		{"not_equal", [2]compute.Datum{fifty, x}, a.IsValid, func(i int) any { return a.Value(i) != 50 }},
		{"less", [2]compute.Datum{null, x}, func(int) bool { return false }, nil},
	} {
		out, err := compute.CallFunction(ctx, c.name, nil, c.args[:]...)
		require.NoError(t, err, c.name)
		arr := out.(*compute.ArrayDatum).MakeArray()
		for i := range longRows {
			if valid := c.valid(i); valid != arr.IsValid(i) {
				t.Fatalf("%s: row %d valid: %v", c.name, i, arr.IsValid(i))
			} else if valid && arr.(interface{ GetOneForMarshal(int) any }).GetOneForMarshal(i) != c.want(i) {
				t.Fatalf("%s: row %d is %s, want %v", c.name, i, arr.ValueStr(i), c.want(i))
			}
		}
		arr.Release()
		out.Release()
	}
}

// An overflow in a valid row is found among rows whose hidden values overflow too.
func TestLongOverflow(t *testing.T) {
	a, b := longColumn(1, true, 0), longColumn(2, true, 0)
	defer a.Release()
	defer b.Release()
	at := longRows - 70
	for ; a.IsNull(at) || b.IsNull(at); at++ {
	}
	a.Int64Values()[at] = math.MaxInt64 - 1
	b.Int64Values()[at] = 2
	_, err := compute.CallFunction(onCPU(), "add", nil, compute.NewDatumWithoutOwning(a), compute.NewDatumWithoutOwning(b))
	require.True(t, errors.Is(err, arrow.ErrInvalid), "%v", err)
}
