package main

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/memory"
)

// The benchmarks measure what their names say: every family runs on every type, and all paths agree.
func TestWorkloads(t *testing.T) {
	const rows = 3001
	for i := range workloads {
		w := &workloads[i]
		require.Same(t, w, familyOf(w.family))
		for _, typ := range w.types() {
			for _, nulls := range benchNulls {
				checked := arrowmem.NewCheckedAllocator(memory.New(nil))
				c, err := w.columns(checked, typ, rows, nulls)
				require.NoError(t, err, w.family)
				require.Len(t, c.arrays, len(w.inputs))
				for k, a := range c.arrays {
					require.Equal(t, rows, a.Len())
					require.InDelta(t, rows*nulls/100, a.NullN(), 0.03*rows)
					if w.inputs[k] == values {
						require.True(t, arrow.TypeEqual(typ, a.DataType()))
					}
				}
				call, err := w.ours(checked, nil)
				require.NoError(t, err)
				got, err := call(t.Context(), c)
				require.NoError(t, err, "%s of %s", w.family, typ)
				require.Positive(t, w.bytes(c, got)+1)
				// arrow-go adds floats in another order.
				if other := w.arrowGo(typ, nulls); other != nil && (w.function != "sum" || typ.ID() != arrow.FLOAT64) {
					want, err := other(t.Context(), c)
					require.NoError(t, err)
					require.True(t, same(got, want), "%s of %s with %d%% nulls", w.family, typ, nulls)
					want.Release()
				}
				got.Release()
				c.release()
				checked.AssertSize(t, 0)
			}
		}
	}
}

func TestColumnsAreTheSameEachTime(t *testing.T) {
	w := findWorkload("add")
	a, err := w.columns(arrowmem.DefaultAllocator, arrow.PrimitiveTypes.Int64, 100, 10)
	require.NoError(t, err)
	defer a.release()
	b, err := w.columns(memory.New(nil), arrow.PrimitiveTypes.Int64, 100, 10)
	require.NoError(t, err)
	defer b.release()
	require.True(t, array.Equal(a.arrays[0], b.arrays[0]))
	require.False(t, array.Equal(a.arrays[0], a.arrays[1]))
}

func TestColumnsRefuseWhatTheyCannotMake(t *testing.T) {
	w := findWorkload("sum")
	_, err := w.columns(arrowmem.DefaultAllocator, arrow.BinaryTypes.String, 10, 0)
	require.ErrorContains(t, err, "utf8")
	_, err = w.columns(memory.New(nil, memory.WithLimit(1<<20)), arrow.PrimitiveTypes.Int64, 1<<20, 0)
	require.ErrorContains(t, err, "out of memory")
}

func TestForgetNullsMakesCountCountAgain(t *testing.T) {
	w := familyOf("Count")
	c, err := w.columns(arrowmem.DefaultAllocator, arrow.PrimitiveTypes.Int64, 1000, 10)
	require.NoError(t, err)
	defer c.release()
	nulls := c.arrays[0].NullN()
	c.forgetNulls()
	require.Equal(t, array.UnknownNullCount, c.arrays[0].Data().NullN())
	call, err := w.ours(arrowmem.DefaultAllocator, nil)
	require.NoError(t, err)
	got, err := call(t.Context(), c)
	require.NoError(t, err)
	require.True(t, same(got, compute.NewDatum(int64(1000-nulls))))
}

func TestBytesAreThoseOfArrow(t *testing.T) {
	for _, c := range []struct {
		family string
		nulls  int
		want   int64
	}{
		{"Sum", 0, 8000},
		{"Sum", 10, 8125},
		{"Count", 0, 0},
		{"Count", 10, 125},
		{"Compare", 0, 16125},
		{"Add", 10, 3 * 8125},
	} {
		w := familyOf(c.family)
		in, err := w.columns(arrowmem.DefaultAllocator, arrow.PrimitiveTypes.Int64, 1000, c.nulls)
		require.NoError(t, err)
		call, err := w.ours(arrowmem.DefaultAllocator, nil)
		require.NoError(t, err)
		out, err := call(t.Context(), in)
		require.NoError(t, err)
		require.Equal(t, c.want, w.bytes(in, out), "%s with %d%% nulls", c.family, c.nulls)
		out.Release()
		in.release()
	}
}

func TestFormats(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		require.Equal(t, want, grouped(n))
	}
	for n, want := range map[int64]string{12: "12 bytes", 1 << 10: "1 KiB", 3 << 29: "1.5 GiB"} {
		require.Equal(t, want, sized(n))
	}
	for d, want := range map[time.Duration]string{999: "999ns", 1234: "1.23µs", 123456: "123µs", 12345678: "12.3ms"} {
		require.Equal(t, want, timed(d))
	}
	for text, want := range map[string]int{"1000": 1000, "1_000": 1000, "1e7": 10_000_000} {
		n, err := parseRows(text)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.Equal(t, []int{1000, 2000, 4000}, sizes(4000))
	require.Equal(t, []int{1000}, sizes(1000))
	require.Len(t, sizes(rowsMaxDefault), 13)
}
