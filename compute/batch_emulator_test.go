//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
)

// A batch counts the rows of pending results, of results that may be null, and of inputs without a validity bitmap.
func TestCountInBatch(t *testing.T) {
	arr, _, err := array.FromJSON(arrowmem.DefaultAllocator, arrow.PrimitiveTypes.Int64, strings.NewReader("[1, 2, null, 3, 0, null, 8]"))
	require.NoError(t, err)
	mask, _, err := array.FromJSON(arrowmem.DefaultAllocator, arrow.FixedWidthTypes.Boolean, strings.NewReader("[true, true, true, true, false, true, true]"))
	require.NoError(t, err)
	whole, _, err := array.FromJSON(arrowmem.DefaultAllocator, arrow.PrimitiveTypes.Int64, strings.NewReader("[1, 2, 4, 3, 0, 7, 8]"))
	require.NoError(t, err)
	run := func(ctx context.Context) (out []string) {
		b := compute.NewBatch(ctx)
		defer b.Release()
		var values []*compute.Value
		for _, x := range []any{arr, whole, b.Call("filter", nil, arr, mask), b.Call("filter", nil, whole, mask), int64(5),
			compute.NewDatum(scalar.MakeNullScalar(arrow.PrimitiveTypes.Int64))} {
			values = append(values, b.Call("count", nil, x), b.Call("count", &compute.CountOptions{Mode: compute.CountAll}, x))
		}
		require.NoError(t, b.Run())
		for _, v := range values {
			d, err := v.Datum()
			require.NoError(t, err)
			out = append(out, d.(*compute.ScalarDatum).Value.String())
		}
		return out
	}
	want := []string{"5", "7", "7", "7", "4", "6", "6", "6", "1", "1", "0", "1"}
	require.Equal(t, want, run(onCPU()))
	onEmulator, _ := emulated(t)
	require.Equal(t, want, run(onEmulator))
}

// Dictionaries in a batch are computed by value, whether they come from outside or from another call of the batch, and
// whatever else reads the same array.
func TestDictionaryInBatch(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int64, ValueType: arrow.PrimitiveTypes.Uint64}
	dict, _, err := array.FromJSON(arrowmem.DefaultAllocator, typ.ValueType, strings.NewReader("[70, null, 90]"))
	require.NoError(t, err)
	index, _, err := array.FromJSON(arrowmem.DefaultAllocator, typ.IndexType, strings.NewReader("[2, 0, 1, null, 2, 0]"))
	require.NoError(t, err)
	mask, _, err := array.FromJSON(arrowmem.DefaultAllocator, arrow.FixedWidthTypes.Boolean, strings.NewReader("[true, true, true, true, false, true]"))
	require.NoError(t, err)
	x := array.NewDictionaryArray(typ, index, dict)
	run := func(ctx context.Context) (out []compute.Datum) {
		b := compute.NewBatch(ctx)
		defer b.Release()
		kept := b.Call("filter", nil, x, mask)
		values := []*compute.Value{b.Call("add_unchecked", nil, x, x), kept, b.Call("add_unchecked", nil, kept, kept), b.Call("greater", nil, kept, uint64(80))}
		require.NoError(t, b.Run())
		for _, v := range values {
			d, err := v.Datum()
			require.NoError(t, err)
			out = append(out, d)
		}
		return out
	}
	onEmulator, _ := emulated(t)
	want := run(onCPU())
	for i, got := range run(onEmulator) {
		require.NoError(t, equal.Datums(got, want[i]), "call %d", i)
	}
}

// Releasing a handle whose copies were evicted leaves those of a later handle alone.
func TestOldHandleLeavesNewCopies(t *testing.T) {
	ctx, card := onCard(t)
	x := numbers(compute.GetAllocator(ctx), 1000)
	defer x.Release()
	old, err := compute.ToDevice(ctx, x)
	require.NoError(t, err)
	require.NoError(t, compute.SetDeviceBudget(ctx, 0))
	require.NoError(t, compute.SetDeviceBudget(ctx, card.Info().MemoryBytes/2))
	held, err := compute.ToDevice(ctx, x)
	require.NoError(t, err)
	defer held.Release()
	old.Release()
	d, err := compute.Explain(ctx, "sum", nil, compute.NewDatumWithoutOwning(x))
	require.NoError(t, err)
	require.Equal(t, compute.DeviceMemory, d.Place)
}
