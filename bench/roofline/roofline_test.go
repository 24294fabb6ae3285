package roofline

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
)

// Ratios are those of the device's time to the constants, and of the work to the copy of the same run.
func TestReport(t *testing.T) {
	r := Report{Device: "a card", Rows: referenceRows, Source: referenceSource, CopyTBs: 4}
	row := Row{Operation: "sum int64", Bytes: 800_000_000, DeviceMS: 0.2, WallMS: 0.25, TargetMS: 0.16, PeerMS: 0.4, PeerLibrary: "CuPy", OddDeviceMS: 0.22}
	row.work(r.CopyTBs)
	require.InDelta(t, 4, row.TBs, 1e-9)
	require.InDelta(t, 1, row.OfCopy, 1e-9)
	r.Resident = append(r.Resident, row)
	r.Host = append(r.Host, HostRow{Operation: "sum int64", OwnMS: 20, ForeignMS: 80, CPUMS: 10})
	var out strings.Builder
	require.NoError(t, r.Markdown(&out))
	require.Contains(t, out.String(), "| sum int64 | 800000000 | 0.2000 | 0.2500 | 4 | 100% | 0.160 | 1.25 | 0.400 (CuPy) | 0.50 | 0.2200 | 1.10 |")
	require.Contains(t, out.String(), "| sum int64 | 20.000 | 80.000 | 10.000 | 0.50 | 0.12 |")

	none := Row{Bytes: 100, WallMS: 2} // a device that does not tell its times, and no constants
	none.work(0)
	require.Equal(t, 100/2e9, none.TBs)
	require.Equal(t, "-", against(1, 0))
	require.Zero(t, tbs(1, 0))
}

func TestInputs(t *testing.T) {
	const rows = 10_000
	in := newInputs(arrowmem.NewGoAllocator(), rows)
	defer in.release()
	for i := range in.f.Len() {
		v := math.Abs(in.f.(*array.Float64).Value(i))
		require.True(t, v >= 1./(1<<20) && v < 1<<20, v)
	}
	set := 0
	for i := range rows {
		if in.mask.(*array.Boolean).Value(i) {
			set++
		}
	}
	require.InDelta(t, rows/2, set, rows/20)
	for i := range in.at.Len() {
		at := in.at.(*array.Int64).Value(i)
		require.True(t, at >= 0 && at < rows)
	}
	odd := in.slices(rows, 1)
	defer odd.release()
	require.Equal(t, in.b.(*array.Int64).Value(3), odd.b.(*array.Int64).Value(0))
	other := in.copied(arrowmem.NewGoAllocator())
	defer other.release()
	for i, a := range in.all() {
		require.True(t, array.Equal(a, other.all()[i]), i)
		require.Equal(t, []int{rows, rows, rows, rows, rows / 2}[i], odd.all()[i].Len())
	}
}

// What is compared is told apart.
func TestSame(t *testing.T) {
	in := newInputs(arrowmem.NewGoAllocator(), 100)
	defer in.release()
	a, b, seven := compute.NewDatum(in.a), compute.NewDatum(in.b), compute.NewDatum(int64(7))
	defer a.Release()
	defer b.Release()
	require.True(t, same(a, a))
	require.False(t, same(a, b))
	require.True(t, same(seven, compute.NewDatum(int64(7))))
	require.False(t, same(seven, compute.NewDatum(int64(8))))
	require.False(t, same(a, seven))
	require.False(t, same(seven, a))
}
