package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

func BenchmarkSum(b *testing.B)      { benchmark(b, "Sum") }
func BenchmarkMinMax(b *testing.B)   { benchmark(b, "MinMax") }
func BenchmarkMean(b *testing.B)     { benchmark(b, "Mean") }
func BenchmarkCount(b *testing.B)    { benchmark(b, "Count") }
func BenchmarkCompare(b *testing.B)  { benchmark(b, "Compare") }
func BenchmarkAdd(b *testing.B)      { benchmark(b, "Add") }
func BenchmarkMultiply(b *testing.B) { benchmark(b, "Multiply") }
func BenchmarkFilter(b *testing.B)   { benchmark(b, "Filter") }
func BenchmarkLogic(b *testing.B)    { benchmark(b, "Logic") }
func BenchmarkCast(b *testing.B)     { benchmark(b, "Cast") }

var (
	benchRows  = []int{1_000, 100_000, 1_000_000, 10_000_000}
	benchNulls = []int{0, 10} // percent
)

func benchmark(b *testing.B, family string) {
	w := familyOf(family)
	if w == nil {
		b.Fatalf("no workload %q", family)
	}
	dev, err := gpu.Default()
	if err != nil {
		dev = nil
	}
	for _, t := range w.types() {
		for _, rows := range benchRows {
			for _, nulls := range benchNulls {
				for _, p := range pathsOf(w, t, nulls, dev) {
					name := fmt.Sprintf("type=%s/rows=%d/nulls=%d/path=%s", t.Name(), rows, nulls, p.name)
					b.Run(name, func(b *testing.B) { p.measure(b, w, t, rows, nulls) })
				}
			}
		}
	}
}

func familyOf(name string) *workload {
	for i := range workloads {
		if workloads[i].family == name {
			return &workloads[i]
		}
	}
	return nil
}

// path is a way to compute a workload.
type path struct {
	name  string
	dev   gpu.Device
	other caller // arrow-go's; nil for ours
}

// pathsOf lists the ways that this machine has.
func pathsOf(w *workload, t arrow.DataType, nulls int, dev gpu.Device) []path {
	paths := []path{{name: "cpu"}}
	if dev != nil {
		paths = append(paths, path{name: "gpu", dev: dev})
	}
	if other := w.arrowGo(t, nulls); other != nil {
		paths = append(paths, path{name: "arrowgo", other: other})
	}
	return paths
}

func (p path) measure(b *testing.B, w *workload, t arrow.DataType, rows, nulls int) {
	mem := memory.New(p.dev)
	defer func() {
		if err := mem.Close(); err != nil {
			b.Error(err)
		}
	}()
	c, err := w.columns(mem, t, rows, nulls)
	if err != nil {
		b.Fatal(err)
	}
	defer c.release()
	call := p.other
	if call == nil {
		if call, err = w.ours(mem, p.dev); err != nil {
			b.Fatal(err)
		}
	}
	ctx := context.Background()
	first, err := call(ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(w.bytes(c, first))
	first.Release()
	var device answered
	if p.dev != nil {
		device = watch(w.function, p.dev)
	}
	b.ReportAllocs()
	for b.Loop() {
		if w.function == "count" {
			c.forgetNulls()
		}
		if err := once(ctx, call, c); err != nil {
			b.Fatal(err)
		}
	}
	if p.dev != nil {
		if err := device.err(); err != nil {
			b.Fatal(err)
		}
	}
}
