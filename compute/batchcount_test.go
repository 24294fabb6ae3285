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
