package compute_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/memory"
)

// TestArrowBuildersInOurMemory looks strings of very different lengths up in a dictionary, which arrow-go does with a
// builder that mistakes capacity for length.
func TestArrowBuildersInOurMemory(t *testing.T) {
	mem := memory.New(nil)
	ctx := compute.WithAllocator(context.Background(), mem)
	require.Same(t, mem, compute.GetAllocator(ctx))
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	b := array.NewDictionaryBuilder(mem, typ).(*array.BinaryDictionaryBuilder)
	defer b.Release()
	var want []string
	for i := range 300 {
		s := strings.Repeat("x", i*i%67)
		want = append(want, s)
		require.NoError(t, b.AppendString(s))
	}
	dict := b.NewArray()
	defer dict.Release()
	out, err := compute.CastArray(ctx, dict, compute.SafeCastOptions(arrow.BinaryTypes.String))
	require.NoError(t, err)
	defer out.Release()
	for i, s := range want {
		require.Equal(t, s, out.(*array.String).Value(i))
	}
}
