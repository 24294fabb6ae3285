//go:build linux && (amd64 || arm64)

package emulator_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/computetest"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/memory"
	"github.com/broadhead-go/broadhead/msl"
)

// profile opens a device of its own.
func profile(t *testing.T, open func() ([]gpu.Device, error)) gpu.Device {
	t.Helper()
	devices, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := devices[0].Close(); err != nil {
			t.Error(err)
		}
	})
	return devices[0]
}

// runKernel runs the body of a kernel over a buffer of ulong and returns its words. The violations of the run are in err.
func runKernel(t *testing.T, d gpu.Device, groups, threads int, body string) (out []uint64, err error) {
	t.Helper()
	p, err := d.Compile(gpu.Source{Name: "k", Text: `#include <metal_stdlib>
using namespace metal;
kernel void k(device ulong* b [[buffer(0)]], uint i [[thread_position_in_grid]], uint tg [[threadgroup_position_in_grid]],
	uint lid [[thread_index_in_threadgroup]]) {
` + body + "\n}\n"})
	if err != nil {
		return nil, err
	}
	defer p.Release()
	buf, err := d.Alloc(4096, gpu.Shared)
	if err != nil {
		t.Fatal(err)
	}
	defer buf.Release()
	clear(buf.Host())
	c := d.Commands()
	c.Dispatch(p, groups, threads, []gpu.Arg{{Buf: buf}})
	e, err := c.Commit()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Wait(ctx); err != nil {
		emulator.Violations()
		return nil, err
	}
	for w := buf.Host(); len(w) > 0; w = w[8:] {
		out = append(out, binary.NativeEndian.Uint64(w))
	}
	return out, nil
}

func TestWideProfile(t *testing.T) {
	wide, metal := profile(t, emulator.OpenWide), profile(t, emulator.Open)
	if caps := wide.Info().Caps; caps != msl.Float64|msl.Atomic64|msl.ForwardProgress {
		t.Errorf("abilities %b", caps)
	}
	if caps := metal.Info().Caps; caps != 0 {
		t.Errorf("abilities of the first profile %b", caps)
	}
	third := 1.0
	third /= 3
	for _, c := range []struct {
		name, body string
		want       []uint64
	}{
		{"double", "b[0] = as_type<ulong>(1.0 / 3.0); b[1] = as_type<ulong>(as_type<double>(b[0]) * 3.0 + double(lid));",
			[]uint64{math.Float64bits(third), math.Float64bits(1)}},
		{"64-bit atomics", `atomic_fetch_add_explicit((device atomic_ulong*)b, 1ul << 32, memory_order_relaxed);
	atomic_fetch_max_explicit((device atomic_ulong*)(b + 1), 5ul << 40, memory_order_relaxed);`, []uint64{1 << 32, 5 << 40}},
	} {
		got, err := runKernel(t, wide, 1, 1, c.body)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, w := range c.want {
			if got[i] != w {
				t.Errorf("%s: word %d is %#x, want %#x", c.name, i, got[i], w)
			}
		}
		if _, err := runKernel(t, metal, 1, 1, c.body); err == nil || !strings.Contains(err.Error(), "compile") {
			t.Errorf("%s on the first profile: %v, want a compile error", c.name, err)
		}
	}
	// The first profile makes 0 of this.
	const subnormal = "uint x = (uint)b[0] + 1u; b[0] = (ulong)as_type<uint>(as_type<float>(x) + as_type<float>(x));"
	for _, p := range []struct {
		d    gpu.Device
		want uint64
	}{{wide, 2}, {metal, 0}} {
		if got, err := runKernel(t, p.d, 1, 1, subnormal); err != nil || got[0] != p.want {
			t.Errorf("sum of subnormals: %d, %v, want %d", got[0], err, p.want)
		}
	}
}

// lookBack is a sum that each threadgroup continues from the one before it: it waits for a flag, and reads what is
// published behind it. Tickets, not positions, number the threadgroups.
func lookBack(load, store, afterLoad, beforeStore string) string {
	return fmt.Sprintf(`
	threadgroup uint ticket;
	if (lid == 0) ticket = atomic_fetch_add_explicit((device atomic_uint*)b, 1u, memory_order_relaxed);
	threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
	uint n = ticket;
	device atomic_uint* flags = (device atomic_uint*)(b + 64);
	if (lid == 1) {
		ulong before = 0ul;
		if (n > 0u) {
			while (atomic_load_explicit(flags + n - 1u, %s) == 0u) {}
			%s
			before = b[n];
		}
		b[n + 1u] = before + (ulong)n;
		%s
		atomic_store_explicit(flags + n, 1u, %s);
	}`, load, afterLoad, beforeStore, store)
}

func TestWideProfileOrders(t *testing.T) {
	d := profile(t, emulator.OpenWide)
	const fence = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst);"
	for _, order := range []int64{0, 3, 4} {
		emulator.SetOption("order", order)
		defer emulator.SetOption("order", 0)
		for _, c := range []struct{ name, body, want string }{
			{"acquire and release", lookBack("memory_order_acquire", "memory_order_release", "", ""), ""},
			{"fences", lookBack("memory_order_relaxed", "memory_order_relaxed", fence, fence), ""},
			{"relaxed", lookBack("memory_order_relaxed", "memory_order_relaxed", "", ""), "data-race"},
			{"no acquire", lookBack("memory_order_relaxed", "memory_order_release", "", ""), "data-race"},
			{"no release", lookBack("memory_order_acquire", "memory_order_relaxed", "", ""), "data-race"},
		} {
			got, err := runKernel(t, d, 12, 64, c.body)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s, order=%d: %v", c.name, order, err)
			case c.want == "" && got[12] != 66:
				t.Errorf("%s, order=%d: %d, want 66", c.name, order, got[12])
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s, order=%d: %v, want %s", c.name, order, err, c.want)
			}
		}
	}
}

// The kernels that are made for devices with double give the right answers, too, under every check.
func TestComputeOnWideProfile(t *testing.T) {
	runCompute(t, profile(t, emulator.OpenWide))
}

// The kernels are right on the weakest machine: nothing in order, threadgroups interleaved, buffers of garbage, results
// that come back in whole lines at the end, late status.
func TestComputeOnWeakestMachine(t *testing.T) {
	for name, value := range map[string]int64{
		"order": 11, "line_writeback": 1, "status_lag_us": 100, "delay_us": 20,
	} {
		emulator.SetOption(name, value)
		defer emulator.SetOption(name, 0)
	}
	runCompute(t, profile(t, emulator.Open))
}

// runCompute runs the short grid of package compute's cases, over buffers that begin as garbage.
func runCompute(t *testing.T, d gpu.Device) {
	if testing.Short() {
		t.Skip("runs hundreds of kernels under all checks, which -short leaves out")
	}
	emulator.SetOption("fill_kib", 1<<20)
	t.Cleanup(func() { emulator.SetOption("fill_kib", 0) })
	if err := compute.SetCrossover("", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = compute.SetCrossover("", -1) })
	mem := memory.New(d)
	t.Cleanup(func() { _ = mem.Close() })
	computetest.RunSome(t, compute.WithAllocator(compute.WithDevice(context.Background(), d), mem))
}
