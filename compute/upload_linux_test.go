//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
)

// A column of other memory goes to a card in pieces that several goroutines fill.
func TestUploadInPieces(t *testing.T) {
	ctx, dev := newBusCard(t)
	for _, n := range []int{2000, 5 << 20, 9<<20 + 77} { // of 8 bytes: one, two and three pieces
		buf := arrowmem.NewResizableBuffer(arrowmem.DefaultAllocator)
		buf.Resize(8 * n)
		words := arrow.Int64Traits.CastFromBytes(buf.Bytes())
		for i := range words {
			words[i] = int64(i) * 0x9e3779b97f4a7c1
		}
		data := array.NewData(arrow.PrimitiveTypes.Int64, n, []*arrowmem.Buffer{nil, buf}, nil, 0, 0)
		buf.Release()
		arr := array.MakeFromData(data)
		data.Release()
		dev.crossed()
		col, err := compute.ToDevice(ctx, arr)
		require.NoError(t, err)
		_, there := dev.crossed()
		require.Equal(t, int64(8*n), there)

		for _, from := range []int{0, 4<<20 - 500, 8<<20 - 500, n - 1000} { // where pieces meet, and the ends
			if from < 0 || from+1000 > n {
				continue
			}
			slice := array.NewSlice(arr, int64(from), int64(from+1000))
			var want int64
			for _, w := range words[from : from+1000] {
				want += w
			}
			got, err := compute.SumArray(ctx, nil, slice)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(want), got.String(), "%d rows from %d on", n, from)
			slice.Release()
		}
		_, there = dev.crossed()
		require.LessOrEqual(t, there, int64(100_000), "what admission brings")
		col.Release()
		arr.Release()
	}
}
