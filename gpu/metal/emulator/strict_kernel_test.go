//go:build linux

package emulator

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

// Bodies of kernelSource that break a rule, and near ones that do not.
var kernelCases = []struct {
	name, body      string
	groups, threads int
	parts           []string
}{
	{"clean", "b[i] = a[i];", 4, 256, nil},
	{"read past the end", "b[i] = a[i + 1];", 4, 256, []string{"out-of-bounds", "nearest is buffer(0) a: byte offset 4096 of 4096", "program_source:6 `b[i] = a[i + 1];`"}},
	{"write past the end", "a[i + 4000] = 1;", 1, 256, []string{"out-of-bounds", "write of 4 bytes"}},
	{"negative index", "b[i] = a[(int)i - 1];", 1, 32, []string{"out-of-bounds", "byte offset -4", "thread (0,0,0) of threadgroup (0,0,0)"}},
	{"null pointer", "device uint* p = (device uint*)(ulong)b[i]; a[i] = *p;", 1, 32, []string{"out-of-bounds"}},
	{"threadgroup overflow", "threadgroup uint x[32]; x[lid] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); b[i] = x[0];", 1, 64, []string{"out-of-bounds", "outside threadgroup memory, near x"}},
	{"uninitialised threadgroup memory", "threadgroup uint x[64]; if (lid < 32) x[lid] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); b[i] = x[lid];", 1, 64, []string{"uninitialised", "x"}},
	{"threadgroup memory of the last threadgroup", "threadgroup uint x[64]; if (tg == 0) x[lid] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); b[i] = x[lid];", 2, 64, []string{"uninitialised"}},
	{"missing barrier", "threadgroup uint x[64]; x[lid] = lid; b[i] = x[63 - lid];", 1, 64, []string{"uninitialised"}},
	{"missing barrier after a first", "threadgroup uint x[64]; x[lid] = 0; threadgroup_barrier(mem_flags::mem_threadgroup); x[lid] = lid; b[i] = x[63 - lid];", 1, 64, []string{"data-race", "of x", "with no barrier between"}},
	{"write after read", "threadgroup uint x[64]; x[lid] = lid; threadgroup_barrier(mem_flags::mem_threadgroup); uint v = x[63 - lid]; x[lid] = v; b[i] = v;", 1, 64, []string{"data-race"}},
	{"write after own read and another's", "threadgroup uint x; if (lid == 0) x = 5; threadgroup_barrier(mem_flags::mem_threadgroup); b[i] = x; if (lid == 63) x = 6;", 1, 64, []string{"data-race", "read by thread"}},
	{"with the barriers", "threadgroup uint x[64]; x[lid] = lid; threadgroup_barrier(mem_flags::mem_threadgroup); uint v = x[63 - lid]; threadgroup_barrier(mem_flags::mem_threadgroup); x[lid] = v; b[i] = v;", 1, 64, nil},
	{"mem_none orders nothing", "threadgroup uint x[64]; x[lid] = 0; threadgroup_barrier(mem_flags::mem_threadgroup); x[lid] = lid; threadgroup_barrier(mem_flags::mem_none); b[i] = x[63 - lid];", 1, 64, []string{"data-race", "of x"}},
	{"mem_device does not order threadgroup memory", "threadgroup uint x[64]; x[lid] = 0; threadgroup_barrier(mem_flags::mem_threadgroup); x[lid] = lid; threadgroup_barrier(mem_flags::mem_device); b[i] = x[63 - lid];", 1, 64, []string{"data-race", "of x"}},
	{"mem_threadgroup does not order device memory", "b[lid] = lid; threadgroup_barrier(mem_flags::mem_threadgroup); a[lid] = b[63 - lid];", 1, 64, []string{"data-race", "buffer(1) b"}},
	{"mem_device orders device memory", "b[lid] = lid; threadgroup_barrier(mem_flags::mem_device); a[lid] = b[63 - lid];", 1, 64, nil},
	{"both flags", "threadgroup uint x[64]; x[lid] = b[lid] = lid; threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup); a[lid] = b[63 - lid] + x[63 - lid];", 1, 64, nil},
	{"simdgroup_barrier within a SIMD-group", "threadgroup uint x[64]; x[lid] = lid; simdgroup_barrier(mem_flags::mem_threadgroup); b[i] = x[lid ^ 1];", 1, 64, nil},
	{"simdgroup_barrier between SIMD-groups", "threadgroup uint x[64]; x[lid] = 0; threadgroup_barrier(mem_flags::mem_threadgroup); x[lid] = lid; simdgroup_barrier(mem_flags::mem_threadgroup); b[i] = x[63 - lid];", 1, 64, []string{"data-race"}},
	{"shuffle orders no memory", "b[lid] = lid; uint v = simd_shuffle_xor(lid, 1); a[lid] = b[lid ^ 1] + v;", 1, 32, []string{"data-race"}},
	{"race between threadgroups", "b[lid] = i;", 2, 32, []string{"data-race", "written by thread 0 of threadgroup #0"}},
	{"read of another threadgroup", "b[i] = i; if (tg == 1) a[i] = b[lid];", 2, 32, []string{"data-race"}},
	{"readers of two threadgroups, one writes", "a[i] = b[lid]; if (tg == 1) b[lid] = i;", 2, 32, []string{"data-race", "read by thread"}},
	{"bytes side by side", "((device uchar*)b)[i] = uchar(i);", 4, 64, nil},
	{"the same byte", "((device uchar*)b)[i / 2] = uchar(i);", 1, 64, []string{"data-race", "write of 1 bytes"}},
	{"plain counter", "b[0] += 1;", 1, 32, []string{"data-race"}},
	{"atomic counter", "atomic_fetch_add_explicit((device atomic_uint*)&b[0], 1u, memory_order_relaxed);", 4, 32, nil},
	{"atomic float", "atomic_fetch_add_explicit((device atomic_float*)&b[0], 1.0f, memory_order_relaxed);", 4, 32, nil},
	{"atomic maximum", "atomic_fetch_max_explicit((device atomic_uint*)&b[0], i, memory_order_relaxed);", 4, 32, nil},
	{"64-bit atomic maximum", "atomic_max_explicit((device atomic_ulong*)&b[0], (ulong)i, memory_order_relaxed);", 4, 32, nil},
	{"atomic and plain", "atomic_fetch_add_explicit((device atomic_uint*)&b[0], 1u, memory_order_relaxed); if (i == 40) b[1] = b[0];", 4, 32, []string{"data-race"}},
	{"flag without order", `
if (i == 0) { b[1] = 7; atomic_store_explicit((device atomic_uint*)&b[0], 1u, memory_order_relaxed); }
if (tg == 1 && lid == 0 && atomic_load_explicit((device atomic_uint*)&b[0], memory_order_relaxed) == 1u) b[2] = b[1];`, 2, 32, []string{"data-race", "program_source:8"}},
	{"threadgroup atomics", "threadgroup atomic_uint n; if (lid == 0) atomic_store_explicit(&n, 0u, memory_order_relaxed); threadgroup_barrier(mem_flags::mem_threadgroup); atomic_fetch_add_explicit(&n, 1u, memory_order_relaxed); threadgroup_barrier(mem_flags::mem_threadgroup); b[i] = atomic_load_explicit(&n, memory_order_relaxed);", 2, 64, nil},
	{"barrier in divergent flow", "if (lid < 32) threadgroup_barrier(mem_flags::mem_none); b[i] = 1;", 1, 64, []string{"divergent-barrier", "others have returned", "program_source:6"}},
	{"barriers in two branches", "if (lid < 32) {\n threadgroup_barrier(mem_flags::mem_none);\n } else {\n threadgroup_barrier(mem_flags::mem_none);\n }", 1, 64, []string{"divergent-barrier", "at another barrier"}},
	{"SIMD operation in divergent flow", "if (lane < 7) b[i] = simd_sum(1u);", 1, 64, []string{"divergent-simd", "simd_sum", "7 of 32"}},
	{"two SIMD operations at once", "if (lane < 7) {\n b[i] = simd_sum(1u);\n } else {\n b[i] = simd_max(1u);\n }", 1, 32, []string{"divergent-simd", "another SIMD-group operation"}},
	{"SIMD operation beside a barrier", "if (lane < 7) {\n b[i] = simd_sum(1u);\n } else {\n threadgroup_barrier(mem_flags::mem_none);\n }", 1, 32, []string{"divergent-simd", "threadgroup_barrier"}},
	{"too much threadgroup memory", "threadgroup uint x[9000]; x[lid] = 1; b[i] = x[lid];", 1, 64, []string{"threadgroup-memory", "32768"}},
	{"all of the threadgroup memory", "threadgroup uint x[4096]; threadgroup uint y[4096]; x[lid] = y[lid] = 1; b[i] = x[lid] + y[lid];", 1, 64, nil},
	{"read of a constant", "b[i] = tableau[lid & 3];", 1, 32, nil},
}

func TestKernelsAreChecked(t *testing.T) {
	for _, c := range kernelCases {
		t.Run(c.name, func(t *testing.T) {
			a, b := newBuffer(4096), newBuffer(4096)
			defer release(a.id)
			defer release(b.id)
			p := checkedPipeline(t, c.body)
			expect(t, func() {
				err := launch(p, c.groups, c.threads, a, b)
				if (err != nil) != (c.parts != nil) {
					t.Errorf("the command buffer's error is %v", err)
				}
			}, c.parts...)
		})
	}
}

// checkedPipeline is a kernel of kernelCases, beside a constant that it may use.
func checkedPipeline(t *testing.T, body string) id {
	return pipelineOf(t, strings.Replace(kernelSource(body), "kernel", "constant uint tableau[4] = {1, 2, 3, 4}; kernel", 1))
}

// A race is seen in whatever order the threads run.
func TestOrderDoesNotHideRaces(t *testing.T) {
	for _, order := range []int64{1, 2, 9} {
		for _, c := range kernelCases {
			if c.parts == nil || c.parts[0] != "data-race" || c.name == "flag without order" {
				continue // that flag is not even set when the reader comes first
			}
			t.Run(fmt.Sprintf("%s/order=%d", c.name, order), func(t *testing.T) {
				set(t, "order", order, 0)
				a, b := newBuffer(4096), newBuffer(4096)
				defer release(a.id)
				defer release(b.id)
				p := checkedPipeline(t, c.body)
				expect(t, func() { launch(p, c.groups, c.threads, a, b) }, "data-race")
			})
		}
	}
}

func TestConstantArgumentsAreReadOnly(t *testing.T) {
	p := pipelineOf(t, header+`kernel void k(device const uint* a [[buffer(0)]], device uint* b [[buffer(1)]]) {
	((device uint*)a)[0] = b[0];
}`)
	a, b := newBuffer(4096), newBuffer(4096)
	expect(t, func() { launch(p, 1, 1, a, b) }, "write-to-constant", "buffer(0) a")
}

func TestPoisonedBytes(t *testing.T) {
	p := pipelineOf(t, kernelSource("b[i] = a[i];"))
	a, b := newBuffer(4096), newBuffer(4096)
	slack := unsafe.Add(unsafe.Pointer(&words[byte](a)[0]), 120)
	Poison(slack, 3000)
	expect(t, func() { launch(p, 1, 32, a, b) }, "poisoned", "byte offset 120", "buffer(0) a")
	Unpoison(slack, 8)
	expect(t, func() { launch(p, 1, 32, a, b) })
	expect(t, func() { launch(p, 2, 32, a, b) }, "poisoned", "byte offset 128")
	Unpoison(slack, 3000)
	expect(t, func() { launch(p, 4, 256, a, b) })
}

// Without checks a race goes by, and the answer comes all the same.
func TestUncheckedMode(t *testing.T) {
	set(t, "sanitize", 0, 1)
	p := pipelineOf(t, kernelSource("b[lid] = lid;"))
	a, b := newBuffer(4096), newBuffer(4096)
	expect(t, func() {
		if err := launch(p, 64, 32, a, b); err != nil {
			t.Fatal(err)
		}
	})
	if words[uint32](b)[31] != 31 {
		t.Fatal("wrong answer")
	}
}

// The result of these divisions is unspecified in MSL; the host would trap.
func TestDivisions(t *testing.T) {
	a, b := newBuffer(4096), newBuffer(4096)
	words[int32](b)[0], words[int32](a)[0], words[int32](a)[1] = -1<<31, -1, 3
	for _, c := range []struct {
		body  string
		parts []string
	}{
		{"a[2] = b[0] / a[1];", nil},
		{"a[2] = b[0] / b[1];", []string{"division", "by zero", "program_source:6"}},
		{"a[2] = b[0] % b[1];", []string{"division", "by zero"}},
		{"a[2] = uint(((device long*)b)[0] / ((device long*)b)[1]);", []string{"division", "by zero"}},
		{"a[2] = uint(((device short*)b)[0] / ((device short*)b)[4]);", []string{"division", "by zero"}},
		{"a[2] = int(b[0]) / int(a[0]);", []string{"division", "least integer by -1"}},
	} {
		p := pipelineOf(t, kernelSource(c.body))
		expect(t, func() { launch(p, 1, 1, a, b) }, c.parts...)
	}
}

func TestMisalignedAccess(t *testing.T) {
	p := pipelineOf(t, kernelSource("b[0] = *(device uint*)((device uchar*)a + 2);"))
	a, b := newBuffer(4096), newBuffer(4096)
	expect(t, func() { launch(p, 1, 1, a, b) }, "misaligned", "no multiple of 4")
}

func TestEndlessKernelTimesOut(t *testing.T) {
	set(t, "kernel_timeout_ms", 10, 60000)
	p := pipelineOf(t, kernelSource("while (atomic_load_explicit((device atomic_uint*)a, memory_order_relaxed) == 0) {}"))
	a, b := newBuffer(4096), newBuffer(4096)
	expect(t, func() {
		if err := launch(p, 1, 1, a, b); err == nil {
			t.Error("no error")
		}
	}, "timeout")
}
