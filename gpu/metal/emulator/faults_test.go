//go:build linux

package emulator

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// A fault is one way to be wrong, committed on purpose, and what the emulator must say of it.
type fault struct {
	name  string
	parts []string
	f     func(t *testing.T)
}

// One deliberately wrong kernel or call for each kind of fault that the emulator promises to find. What belongs to each
// kind in detail is in the other tests.
func TestEveryFault(t *testing.T) {
	for _, list := range [][]fault{kernelFaults(), orderFaults(), objectFaults()} {
		for _, c := range list {
			t.Run(c.name, func(t *testing.T) { expect(t, func() { c.f(t) }, c.parts...) })
		}
	}
}

func kernelFaults() []fault {
	kernel := func(name string, groups, threads int, body string, parts ...string) fault {
		return fault{name, parts, func(t *testing.T) {
			p := checkedPipeline(t, body)
			a, b := newBuffer(4096), newBuffer(4096)
			defer release(a.id)
			defer release(b.id)
			if err := launch(p, groups, threads, a, b); err == nil {
				t.Error("the command buffer has no error")
			}
		}}
	}
	return []fault{
		kernel("out of bounds", 1, 32, "b[i] = a[i + 1000];", "out-of-bounds", "buffer(0) a", "byte offset 4096"),
		kernel("misaligned", 1, 1, "b[0] = *(device uint*)((device uchar*)a + 2);", "misaligned", "no multiple of 4"),
		kernel("misaligned vector", 1, 1, "((device uint4*)b)[0] = *(device uint4*)(a + 2);", "misaligned", "no multiple of 16"),
		kernel("race", 2, 32, "b[lid] = i;", "data-race", "buffer(1) b"),
		kernel("relaxed flag publishing", 2, 32, `
	device atomic_uint* flag = (device atomic_uint*)b;
	if (i == 0) { b[1] = 7; atomic_store_explicit(flag, 1u, memory_order_relaxed); }
	if (i == 32 && atomic_load_explicit(flag, memory_order_relaxed) == 1u) b[2] = b[1];`, "data-race", "b[2] = b[1]"),
		kernel("uninitialised threadgroup memory", 1, 64, `
	threadgroup uint x[64];
	if (lid < 32) x[lid] = 1;
	threadgroup_barrier(mem_flags::mem_threadgroup);
	b[i] = x[lid];`, "uninitialised", "x"),
		kernel("divergent barrier", 1, 64, "if (lid < 32) threadgroup_barrier(mem_flags::mem_device); b[i] = 1;", "divergent-barrier"),
		kernel("divergent SIMD operation", 1, 32, "if (lane < 7) b[i] = simd_sum(1u);", "divergent-simd", "7 of 32"),
		{"write to constant", []string{"write-to-constant", "buffer(0) a"}, func(t *testing.T) {
			p := pipelineOf(t, header+`kernel void k(constant uint* a [[buffer(0)]], device uint* b [[buffer(1)]]) {
	((device uint*)a)[0] = b[0];
}`)
			launch(p, 1, 1, newBuffer(4096), newBuffer(4096))
		}},
	}
}

func orderFaults() []fault {
	return []fault{
		{"missing barrier between dispatches", []string{"missing-barrier", "a memory barrier (same encoder)"}, func(t *testing.T) {
			w := newWork(t)
			commit(func(cb id) { w.compute(cb, concurrent, w.fill, w.read) })
		}},
		{"missing fence between encoders", []string{"missing-barrier", "a fence (two encoders)"}, func(t *testing.T) {
			w := newWork(t)
			commit(func(cb id) {
				w.compute(cb, 0, w.fill)
				w.compute(cb, 0, w.read)
			})
		}},
		{"missing fence between command buffers", []string{"missing-barrier", "dispatch of kernel k"}, func(t *testing.T) {
			w := newWork(t)
			buffers(nil,
				func(cb id) { w.fenced(cb, false, true, w.fill) },
				func(cb id) { w.fenced(cb, false, false, w.read) })
		}},
	}
}

func objectFaults() []fault {
	return []fault{
		{"unknown selector", []string{"unrecognized-selector", "fooBar:"}, func(*testing.T) { send(objc.device, "fooBar:", 1) }},
		{"wrong MTLSize convention", []string{"dispatch", "is MTLSize passed by the right convention?"}, func(t *testing.T) {
			plain := pipelineOf(t, kernelSource("b[i] = a[i];"))
			encoder(func(e id) {
				send(e, "setComputePipelineState:", plain)
				const name = "dispatchThreadgroups:threadsPerThreadgroup:"
				if runtime.GOARCH == "amd64" { // as on arm64
					groups, threads := line(1), line(32)
					send(e, name, uintptr(unsafe.Pointer(&groups)), uintptr(unsafe.Pointer(&threads)))
				} else { // as on amd64
					zeros := make([]uintptr, 8)
					z := uintptr(unsafe.Pointer(&zeros[0]))
					send(e, name, z, z, 0, 0, 1, 1, 1, 32)
				}
			})
		}},
		{"over-release", []string{"use-after-free", "release sent to deallocated EmuMTLBuffer"}, func(*testing.T) {
			b := newBuffer(64)
			release(b.id)
			release(b.id)
		}},
		{"use after free", []string{"use-after-free", "contents sent to deallocated EmuMTLBuffer"}, func(*testing.T) {
			b := newBuffer(64)
			release(b.id)
			send(b.id, "contents")
		}},
		{"missing pool", []string{"no-pool", "EmuMTLCommandBuffer"}, func(*testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			send(objc.queue, "commandBuffer")
		}},
		{"missing LockOSThread", []string{"pool", "runtime.LockOSThread is missing"}, func(*testing.T) {
			tokens, popped := make(chan uintptr), make(chan struct{})
			go func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				token := raw(objc.poolPush)
				tokens <- token
				<-popped
				raw(objc.poolPop, token)
			}()
			token := <-tokens // its goroutine keeps its thread: this is another
			raw(objc.poolPop, token)
			close(popped)
		}},
		{"commit without endEncoding", []string{"commit", "endEncoding is missing"}, func(*testing.T) {
			pool(func() {
				cb := send(objc.queue, "commandBuffer")
				e := send(cb, "computeCommandEncoder")
				send(cb, "commit")
				send(e, "endEncoding")
			})
		}},
		{"buffer freed in flight", []string{"use-after-free", "EmuMTLBuffer", "released before the GPU used it"}, func(t *testing.T) {
			set(t, "delay_us", 20000, 0)
			plain := pipelineOf(t, kernelSource("b[i] = a[i];"))
			pool(func() {
				a, b := newBuffer(4096), newBuffer(4096)
				cb := send(objc.queue, "commandBufferWithUnretainedReferences")
				e := send(cb, "computeCommandEncoder")
				encode(e, plain, 1, 32, a, b)
				send(e, "endEncoding")
				send(cb, "commit")
				release(a.id)
				send(cb, "waitUntilCompleted")
			})
		}},
	}
}

// A program that ends with live objects is told so. The test runs itself again as that program.
func TestLeakAtExit(t *testing.T) {
	const child = "METALEMU_TEST_LEAK"
	if kind := os.Getenv(child); kind != "" {
		Abort()
		b := newBuffer(64)
		if kind == "clean" {
			release(b.id)
		}
		release(objc.queue)
		release(objc.device)
		if n := CheckLeaks(); n != 0 {
			t.Errorf("%d classes", n)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{"clean": "", "leaky": "metalemu: leak: 1 objects of class EmuMTLBuffer"} {
		cmd := exec.Command(self, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"="+kind)
		out, err := cmd.CombinedOutput()
		if (err == nil) != (want == "") || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, output %q", kind, err, out)
		}
	}
}
