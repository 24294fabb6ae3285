//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/computetest"
	"github.com/broadhead-go/broadhead/gpu"
	_ "github.com/broadhead-go/broadhead/gpu/cuda"
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
