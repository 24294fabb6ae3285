//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

// TestCUDAManyRows counts, adds, compares and filters more rows than 32 bits number.
func TestCUDAManyRows(t *testing.T) {
	dev := cudaDevice(t)
	if dev == nil {
		return
	}
	const rows = 1<<32 + 5
	if dev.Info().MemoryBytes < 8*rows {
		t.Logf("nothing to test: %s has %d bytes", dev.Info().Name, dev.Info().MemoryBytes)
		return
	}
	ctx := onDevice(t, dev)
	buf := arrowmem.NewResizableBuffer(compute.GetAllocator(ctx))
	buf.Resize(rows)
	values := buf.Bytes()
	for i := range 4096 {
		values[i] = byte(i % 5) // 0 to 4
	}
	for n := 4095; n < rows; n *= 2 { // 4095 is a multiple of 5
		copy(values[n:], values[:min(n, rows-n)])
	}
	values[rows-1] = 100
	data := array.NewData(arrow.PrimitiveTypes.Int8, rows, []*arrowmem.Buffer{nil, buf}, nil, 0, 0)
	buf.Release()
	col := array.MakeFromData(data)
	data.Release()
	defer col.Release()
	x, err := compute.ToDevice(ctx, col)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	want, fours := int64(0), int64(0)
	for i := range int64(5) {
		n := (rows - 1 + 4 - i) / 5 // of the rows but the last
		want += i * n
		if i == 4 {
			fours = n
		}
	}
	want += 100
	b := compute.NewBatch(ctx)
	defer b.Release()
	mask := b.Call("greater", nil, x, int8(3))
	kept := b.Call("filter", nil, x, mask)
	results := map[string]*compute.Value{
		"sum":          b.Call("sum", nil, x),
		"max":          b.Call("max", nil, x),
		"sum of mask":  b.Call("sum", nil, mask),
		"sum of kept":  b.Call("sum", nil, kept),
		"any of equal": b.Call("any", nil, b.Call("equal", nil, x, int8(100))),
	}
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]any{"sum": want, "max": int8(100), "sum of mask": uint64(fours + 1),
		"sum of kept": 4*fours + 100, "any of equal": true} {
		d, err := results[name].Datum()
		if err != nil {
			t.Fatal(err)
		}
		w := compute.NewDatum(text)
		if got := d.(*compute.ScalarDatum).Value.String(); got != w.(*compute.ScalarDatum).Value.String() {
			t.Errorf("%s is %s, want %s", name, got, w.(*compute.ScalarDatum).Value)
		}
		d.Release()
	}
}
