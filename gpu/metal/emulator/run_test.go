//go:build linux

package emulator

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

const header = "#include <metal_stdlib>\nusing namespace metal;\n"

// kernelSource wraps a body in a kernel k over two buffers of uint.
func kernelSource(body string) string {
	return header + `kernel void k(device uint* a [[buffer(0)]], device uint* b [[buffer(1)]],
		uint i [[thread_position_in_grid]], uint lid [[thread_index_in_threadgroup]],
		uint lane [[thread_index_in_simdgroup]], uint tg [[threadgroup_position_in_grid]]) {
` + body + "\n}\n"
}

func pipelineOf(t testing.TB, source string) id {
	t.Helper()
	library, err := newLibrary(source)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPipeline(library, "k")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// encode records one dispatch with the buffers at 0, 1, ...
func encode(encoder, pipeline id, groups, threads int, buffers ...buffer) {
	send(encoder, "setComputePipelineState:", pipeline)
	for i, b := range buffers {
		send(encoder, "setBuffer:offset:atIndex:", b.id, 0, uintptr(i))
	}
	dispatch(encoder, line(groups), line(threads))
}

// launch runs one dispatch to its end.
func launch(pipeline id, groups, threads int, buffers ...buffer) (err error) {
	return commit(func(cb id) {
		e := send(cb, "computeCommandEncoder")
		encode(e, pipeline, groups, threads, buffers...)
		send(e, "endEncoding")
	})
}

// commit fills a command buffer, commits it and waits.
func commit(fill func(cb id)) (err error) {
	pool(func() {
		cb := send(objc.queue, "commandBuffer")
		fill(cb)
		send(cb, "commit")
		send(cb, "waitUntilCompleted")
		err = bufferError(cb)
	})
	return err
}

// expect runs f and wants one violation that contains each of the parts, or
// none at all if there are no parts.
func expect(t *testing.T, f func(), parts ...string) {
	t.Helper()
	Violations()
	f()
	got := Violations()
	if len(parts) == 0 {
		if len(got) > 0 {
			t.Fatalf("unexpected violations: %q", got)
		}
		return
	}
next:
	for _, v := range got {
		for _, part := range parts {
			if !strings.Contains(v, part) {
				continue next
			}
		}
		return
	}
	t.Fatalf("want a violation with %q, got %q", parts, got)
}

// set sets an option for one test.
func set(t testing.TB, name string, value, normal int64) {
	SetOption(name, value)
	t.Cleanup(func() { SetOption(name, normal) })
}

func setBytes[T any](encoder id, v T, index int) {
	send(encoder, "setBytes:length:atIndex:", uintptr(unsafe.Pointer(&v)), unsafe.Sizeof(v), uintptr(index))
}

func TestAddThroughEveryLayer(t *testing.T) {
	p := pipelineOf(t, kernelSource("b[i] = a[i] * 2 + tg;"))
	a, b := newBuffer(4096), newBuffer(4096)
	for i := range words[uint32](a) {
		words[uint32](a)[i] = uint32(i)
	}
	expect(t, func() {
		if err := launch(p, 4, 256, a, b); err != nil {
			t.Fatal(err)
		}
	})
	for i, got := range words[uint32](b) {
		if want := uint32(i*2 + i/256); got != want {
			t.Fatalf("word %d: got %d, want %d", i, got, want)
		}
	}
}

// sum64 adds up longs: each of the groups of 128 threads gives one partial sum.
const sum64 = header + `
constant uint kGroup = 128;
static inline long down(long v, ushort d) { return as_type<long>(simd_shuffle_down(as_type<uint2>(v), d)); }
static inline long group_sum(long s, threadgroup long* tile, uint lane, uint sg) {
	for (ushort d = 16; d > 0; d >>= 1) s += down(s, d);
	if (lane == 0) tile[sg] = s;
	threadgroup_barrier(mem_flags::mem_threadgroup);
	long t = lane < kGroup / 32 ? tile[lane] : 0;
	for (ushort d = 16; d > 0; d >>= 1) t += down(t, d);
	return t;
}
struct Params { uint n; uint each; };
kernel void k(device const long* in [[buffer(0)]], device long* out [[buffer(1)]], constant Params& p [[buffer(2)]],
		uint tg [[threadgroup_position_in_grid]], uint lid [[thread_index_in_threadgroup]],
		uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
	threadgroup long tile[kGroup / 32];
	long s = 0;
	for (uint k = 0; k < p.each; k++) {
		uint i = (tg * p.each + k) * kGroup + lid;
		if (i < p.n) s += in[i];
	}
	long total = group_sum(s, tile, lane, sg);
	if (lid == 0) out[tg] = total;
}`

func runSum64(p id, n, groups, each int, in, out buffer) error {
	return commit(func(cb id) {
		e := send(cb, "computeCommandEncoder")
		setBytes(e, struct{ n, each uint32 }{uint32(n), uint32(each)}, 2)
		encode(e, p, groups, 128, in, out)
		send(e, "endEncoding")
	})
}

// In every order of threadgroups and SIMD-groups the answer is the same.
func TestSum64(t *testing.T) {
	p := pipelineOf(t, sum64)
	const n, groups, each = 5000, 10, 4
	in, out := newBuffer(n*8), newBuffer(groups*8)
	var want int64
	for i := range words[int64](in) {
		v := int64(i) * 0x123456789 * int64(1-i%2*2)
		words[int64](in)[i] = v
		want += v
	}
	for _, order := range []int64{0, 1, 7} {
		t.Run(fmt.Sprint("order=", order), func(t *testing.T) {
			set(t, "order", order, 0)
			expect(t, func() {
				err := runSum64(p, n, groups, each, in, out)
				if err != nil {
					t.Fatal(err)
				}
			})
			var got int64
			for _, v := range words[int64](out)[:groups] {
				got += v
			}
			if got != want {
				t.Fatalf("got %d, want %d", got, want)
			}
		})
	}
}

// Subnormals are zero to a kernel: as operands and as results.
func TestSubnormalsFlush(t *testing.T) {
	p := pipelineOf(t, header+`kernel void k(device const float* a [[buffer(0)]], device float* b [[buffer(1)]],
		uint i [[thread_position_in_grid]]) { b[i] = a[2 * i] * a[2 * i + 1]; }`)
	a, b := newBuffer(4096), newBuffer(4096)
	x := words[float32](a)
	x[0], x[1] = 1e-38, 0.1  // the result is subnormal
	x[2], x[3] = 1e-39, 1e10 // an operand is
	x[4], x[5] = 1.5, 2
	if err := launch(p, 1, 32, a, b); err != nil {
		t.Fatal(err)
	}
	if got := words[float32](b)[:3]; got[0] != 0 || got[1] != 0 || got[2] != 3 {
		t.Fatalf("got %v, want [0 0 3]", got)
	}
	if x[0]*x[1] == 0 {
		t.Fatal("the mode of a kernel leaked into the host")
	}
}

// a*b+c rounds twice: nothing contracts it to fma.
func TestNoContraction(t *testing.T) {
	p := pipelineOf(t, header+`kernel void k(device const float* a [[buffer(0)]], device float* b [[buffer(1)]],
		uint i [[thread_position_in_grid]]) {
	b[0] = a[0] * a[1] + a[2];
	b[1] = fma(a[0], a[1], a[2]);
}`)
	a, b := newBuffer(4096), newBuffer(4096)
	x := float32(1) + 0x1p-12
	copy(words[float32](a), []float32{x, x, -(1 + 0x1p-11)})
	if err := launch(p, 1, 1, a, b); err != nil {
		t.Fatal(err)
	}
	if got := words[float32](b); got[0] != 0 || got[1] != 0x1p-24 {
		t.Fatalf("got %v, want [0 %v]", got[:2], 0x1p-24)
	}
}

// A million rows, as the kernels of package msl see them.
func BenchmarkSum64(b *testing.B) {
	for _, mode := range []string{"unchecked", "checked"} {
		b.Run(mode, func(b *testing.B) {
			if mode == "unchecked" {
				set(b, "sanitize", 0, 1)
			}
			p := pipelineOf(b, sum64)
			const n, each = 1_000_000, 16
			groups := (n + 128*each - 1) / (128 * each)
			in, out := newBuffer(n*8), newBuffer(groups*8)
			defer release(in.id)
			defer release(out.id)
			for b.Loop() {
				if err := runSum64(p, n, groups, each, in, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEmptyLaunch(b *testing.B) {
	p := pipelineOf(b, kernelSource("if (i == 0) b[0] = a[0];"))
	x, y := newBuffer(4096), newBuffer(4096)
	for b.Loop() {
		if err := launch(p, 1, 32, x, y); err != nil {
			b.Fatal(err)
		}
	}
}
