//go:build linux

package emulator

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

func TestKernelsAreChecked(t *testing.T) {
	for _, c := range readCases(t, "checked.metal") {
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
	const constant = "constant uint tableau[4] = {1, 2, 3, 4}; "
	return pipelineOf(t, strings.Replace(kernelSource(body), "kernel", constant+"kernel", 1))
}

// A race is seen in whatever order the threads run.
func TestOrderDoesNotHideRaces(t *testing.T) {
	for _, order := range []int64{1, 2, 9} {
		for _, c := range readCases(t, "checked.metal") {
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
