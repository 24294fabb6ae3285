//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/computetest"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/cuda"
	"github.com/broadhead-go/broadhead/memory"
)

// cudaDevice is the first NVIDIA GPU, nil on machines without one.
func cudaDevice(t testing.TB) gpu.Device {
	t.Helper()
	dev, err := gpu.Open("cuda")
	if err != nil {
		t.Logf("nothing to test: %v", err)
		return nil
	}
	return dev
}

func TestCUDA(t *testing.T) {
	if dev := cudaDevice(t); dev != nil {
		computetest.RunAll(t, onDevice(t, dev))
	}
}

// Memory of another allocator is copied; the answers are the same.
func TestCUDAForeignMemory(t *testing.T) {
	if dev := cudaDevice(t); dev != nil {
		always(t)
		computetest.RunSome(t, compute.WithDevice(context.Background(), dev))
	}
}

func TestNoLeaksOnCUDA(t *testing.T) {
	dev := cudaDevice(t)
	if dev == nil {
		return
	}
	always(t)
	mem := memory.New(dev)
	noLeaks(t, compute.WithAllocator(compute.WithDevice(context.Background(), dev), mem), mem)
	if s := mem.Stats(); s.Active != 0 || s.Parked != 0 || s.BadFrees != 0 {
		t.Errorf("left behind: %+v", s)
	}
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}

// TestWithoutNVRTCOnCUDA runs where the compiler is missing: the core's kernels are those compiled beforehand, if the
// program has any, and what is no part of the core is the CPU's.
func TestWithoutNVRTCOnCUDA(t *testing.T) {
	if !isChild(t) {
		if cudaDevice(t) != nil {
			out, _ := child(t, 2*time.Minute, "BROADHEAD_NVRTC=/nowhere/libnvrtc.so", "BROADHEAD_CUDA_CACHE=off")
			t.Log(out)
		}
		return
	}
	dev, err := gpu.Open("cuda")
	if cuda.PrecompiledKernels() == 0 {
		require.ErrorContains(t, err, "no kernels compiled beforehand")
		return
	}
	require.NoError(t, err)
	ctx := onDevice(t, dev)
	values, mask := counting(compute.GetAllocator(ctx), 100_000), testBools(100_000)
	core := map[string]bool{"sum": true, "filter": true, "less": true, "add": true, "greater": true}
	for _, j := range jobs {
		want, err := j.run(onCPU(), values, mask)
		require.NoError(t, err)
		checkJob(t, ctx, j, values, mask, want)
	}
	other, err := compute.CallFunction(ctx, "bit_wise_not", nil, borrowed(values)...)
	require.NoError(t, err)
	other.Release()
	ran := 0
	for _, s := range compute.Stats() {
		t.Logf("%+v", s)
		if s.Device != "cuda" {
			continue
		}
		if core[s.Function] {
			ran++
			require.Zero(t, s.Fallbacks, "%s: %s", s.Function, s.LastFallback)
		} else {
			require.Contains(t, s.LastFallback, "compiled beforehand")
		}
	}
	require.Len(t, core, ran)
}

// Small aggregates, which one kernel does.
func TestCUDAEager(t *testing.T) {
	if dev := cudaDevice(t); dev != nil {
		checkEager(t, onDevice(t, dev), 0, 1, 33, 1000, 4096, 8192, 8193)
	}
}

// BenchmarkCUDASum is the whole call: 100 million int64 in pinned host memory to one number.
func BenchmarkCUDASum(b *testing.B) {
	dev := cudaDevice(b)
	if dev == nil {
		b.Skip("no device")
	}
	const rows = 100_000_000
	ctx := onDevice(b, dev)
	mem := compute.GetAllocator(ctx)
	builder := array.NewInt64Builder(mem)
	builder.Reserve(rows)
	for i := range int64(rows) {
		builder.UnsafeAppend(i)
	}
	col := builder.NewArray()
	builder.Release()
	defer col.Release()
	b.SetBytes(8 * rows)
	for b.Loop() {
		sum, err := compute.SumArray(ctx, nil, col)
		if err != nil {
			b.Fatal(err)
		}
		if got := sum.String(); got != "4999999950000000" {
			b.Fatal(got)
		}
	}
}

// BenchmarkCUDAColumns times batches over a column of 100 million rows that ToDevice keeps on the GPU, from recording to
// the scalar on the host. Every chain but the first ends in a reduction, so that nothing large comes home.
func BenchmarkCUDAColumns(b *testing.B) {
	dev := cudaDevice(b)
	if dev == nil {
		b.Skip("no device")
	}
	const rows = 100_000_000
	ctx := onDevice(b, dev)
	builder := array.NewInt64Builder(compute.GetAllocator(ctx))
	builder.Reserve(rows)
	for i := range int64(rows) {
		builder.UnsafeAppend(i * 7919 % 1_000_003)
	}
	col := builder.NewArray()
	builder.Release()
	defer col.Release()
	floats, err := compute.CastArray(compute.WithDevice(ctx, nil), col, compute.SafeCastOptions(arrow.PrimitiveTypes.Float64))
	if err != nil {
		b.Fatal(err)
	}
	defer floats.Release()
	var handles []*compute.Column
	numbers := benchIndices(compute.GetAllocator(ctx), rows/2, rows)
	defer numbers.Release()
	for _, a := range []arrow.Array{col, floats, numbers} {
		h, err := compute.ToDevice(ctx, a)
		if err != nil {
			b.Fatal(err)
		}
		defer h.Release()
		handles = append(handles, h)
	}
	x, f, at := handles[0], handles[1], handles[2]
	for _, c := range []struct {
		name  string
		bytes int64 // read and written
		calls func(*compute.Batch) *compute.Value
	}{
		{"sum", 8, func(b *compute.Batch) *compute.Value { return b.Call("sum", nil, x) }},
		{"sum_f64_exact", 8, func(b *compute.Batch) *compute.Value { return b.Call("sum", nil, f) }},
		{"min_max", 8, func(b *compute.Batch) *compute.Value { return b.Call("min_max", nil, x) }},
		{"any_greater", 8, func(b *compute.Batch) *compute.Value {
			return b.Call("any", nil, b.Call("greater", nil, x, int64(2_000_000)))
		}},
		{"sum_add_scalar", 24, func(b *compute.Batch) *compute.Value {
			return b.Call("sum", nil, b.Call("add_unchecked", nil, x, int64(1)))
		}},
		{"sum_add", 32, func(b *compute.Batch) *compute.Value { return b.Call("sum", nil, b.Call("add_unchecked", nil, x, x)) }},
		{"min_max_multiply_f64", 24, func(b *compute.Batch) *compute.Value {
			return b.Call("min_max", nil, b.Call("multiply_unchecked", nil, f, 1.5))
		}},
		{"min_max_cast_f32", 16, func(b *compute.Batch) *compute.Value {
			return b.Call("min_max", nil, b.Call("cast", compute.UnsafeCastOptions(arrow.PrimitiveTypes.Float32), x))
		}},
		{"any_greater_cast", 24, func(b *compute.Batch) *compute.Value { // the column is cast to float64 first
			return b.Call("any", nil, b.Call("greater", nil, x, 2e6))
		}},
		{"min_max_cumulative_sum", 24, func(b *compute.Batch) *compute.Value {
			return b.Call("min_max", nil, b.Call("cumulative_sum", nil, x))
		}},
		{"sum_take_half", 16, func(b *compute.Batch) *compute.Value {
			return b.Call("sum", nil, b.Call("take", nil, x, at))
		}},
		{"sum_filter_half", 24, func(b *compute.Batch) *compute.Value {
			return b.Call("sum", nil, b.Call("filter", nil, x, b.Call("greater", nil, x, int64(500_000))))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			run := func() {
				batch := compute.NewBatch(ctx)
				defer batch.Release()
				v := c.calls(batch)
				if err := batch.Run(); err != nil {
					b.Fatal(err)
				}
				if _, err := v.Datum(); err != nil {
					b.Fatal(err)
				}
			}
			run() // kernels compile
			b.SetBytes(c.bytes * rows)
			for b.Loop() {
				run()
			}
		})
	}
}
