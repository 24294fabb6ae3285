//go:build linux

package emulator

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Each command buffer signals an event of its own; a failed one never does.
func TestFailedCommandNeverSignals(t *testing.T) {
	SetOption("fail_command", 2)
	expect(t, func() {
		for i, wantError := range []bool{false, true, false} {
			event := send(objc.device, "newSharedEvent")
			err := commit(func(cb id) { send(cb, "encodeSignalEvent:value:", event, 1) })
			if (err != nil) != wantError {
				t.Errorf("command buffer %d: error %v", i, err)
			}
			if err != nil && !strings.Contains(err.Error(), "injected") {
				t.Errorf("command buffer %d: error %v", i, err)
			}
			if signalled := send(event, "signaledValue") == 1; signalled == wantError {
				t.Errorf("command buffer %d: signalled: %v", i, signalled)
			}
			release(event)
		}
	})
}

func TestBrokenKernelFailsItsCommandBuffer(t *testing.T) {
	p := pipelineOf(t, kernelSource("b[i + 5000] = 1;"))
	a, b := newBuffer(4096), newBuffer(4096)
	event := send(objc.device, "newSharedEvent")
	defer release(event)
	expect(t, func() {
		pool(func() {
			cb := send(objc.queue, "commandBuffer")
			e := send(cb, "computeCommandEncoder")
			encode(e, p, 1, 32, a, b)
			send(e, "endEncoding")
			send(cb, "encodeSignalEvent:value:", event, 1)
			send(cb, "commit")
			send(cb, "waitUntilCompleted")
			failure := send(cb, "error")
			if failure == 0 {
				t.Fatal("no error")
			}
			if code := send(failure, "code"); code != 3 {
				t.Errorf("code %d, want 3 (page fault)", code)
			}
			if domain := goString(send(failure, "domain")); domain != "MTLCommandBufferErrorDomain" {
				t.Errorf("domain %q", domain)
			}
		})
	}, "out-of-bounds")
	if send(event, "signaledValue") != 0 {
		t.Error("the failed command buffer has signalled")
	}
	if err := commit(func(id) {}); err != nil {
		t.Errorf("the next command buffer: %v", err)
	}
}

func TestLostDevice(t *testing.T) {
	SetOption("lost", 1)
	for range 2 {
		if err := commit(func(id) {}); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("error %v", err)
		}
	}
	SetOption("lost", 0)
	if err := commit(func(id) {}); err != nil {
		t.Error(err)
	}
}

func TestInjectedFailures(t *testing.T) {
	source := kernelSource("b[i] = a[i];")
	library, err := newLibrary(source)
	if err != nil {
		t.Fatal(err)
	}
	SetOption("fail_library", 1)
	if _, err := newLibrary(source); err == nil || !strings.Contains(err.Error(), "program_source") {
		t.Errorf("fail_library: %v", err)
	}
	if _, err := newLibrary(source); err != nil {
		t.Errorf("after fail_library: %v", err)
	}
	SetOption("fail_pipeline", 1)
	if _, err := newPipeline(library, "k"); err == nil {
		t.Error("fail_pipeline did nothing")
	}
	if _, err := newPipeline(library, "k"); err != nil {
		t.Errorf("after fail_pipeline: %v", err)
	}
	SetOption("fail_alloc", 2)
	for i, want := range []bool{true, false, true} {
		b := newBuffer(64)
		if (b.id != 0) != want {
			t.Errorf("fail_alloc: buffer %d is %#x", i, b.id)
		}
		release(b.id)
	}
	m := mapPages(t, 1<<14)
	SetOption("fail_alloc", 1)
	if b := wrapBuffer(m); b.id != 0 {
		t.Error("fail_alloc: a wrapped buffer was made")
	}
	b := wrapBuffer(m)
	if b.id == 0 {
		t.Error("after fail_alloc: no buffer")
	}
	release(b.id)
	if b := send(objc.device, "newBufferWithLength:options:", 1<<40, untracked); b != 0 {
		t.Error("a buffer of 1 TiB was made")
	}
}

func TestUnknownOptionPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	SetOption("no_such_option", 1)
}

// The event is seen before the status says that the work is done.
func TestStatusLagsTheEvent(t *testing.T) {
	set(t, "status_lag_us", 50000, 0)
	event := send(objc.device, "newSharedEvent")
	defer release(event)
	pool(func() {
		cb := send(objc.queue, "commandBuffer")
		send(cb, "encodeSignalEvent:value:", event, 1)
		begin := time.Now()
		send(cb, "commit")
		if !isTrue(send(event, "waitUntilSignaledValue:timeoutMS:", 1, 5000)) {
			t.Fatal("not signalled")
		}
		if status := send(cb, "status"); status >= 4 && time.Since(begin) < 45*time.Millisecond {
			t.Errorf("status %d with the event", status)
		}
		send(cb, "waitUntilCompleted")
		if lag := time.Since(begin); lag < 50*time.Millisecond {
			t.Errorf("completed after %v", lag)
		}
	})
}

func TestDelay(t *testing.T) {
	set(t, "delay_us", 30000, 0)
	begin := time.Now()
	if err := commit(func(id) {}); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d < 30*time.Millisecond {
		t.Errorf("took %v", d)
	}
}

func TestWaitForEventTimesOut(t *testing.T) {
	set(t, "event_timeout_ms", 20, 20000)
	event := send(objc.device, "newSharedEvent")
	defer release(event)
	if isTrue(send(event, "waitUntilSignaledValue:timeoutMS:", 1, 1)) {
		t.Error("the host's wait did not time out")
	}
	err := commit(func(cb id) { send(cb, "encodeWaitForEvent:value:", event, 1) })
	if err == nil || !strings.Contains(err.Error(), "did not reach the value 1") {
		t.Errorf("error %v", err)
	}
}

func TestGPUTimes(t *testing.T) {
	pool(func() {
		cb := send(objc.queue, "commandBuffer")
		send(cb, "commit")
		send(cb, "waitUntilCompleted")
		begin, end := objc.gpuTime(cb, sel("GPUStartTime")), objc.gpuTime(cb, sel("GPUEndTime"))
		if begin <= 0 || end < begin {
			t.Errorf("from %v to %v", begin, end)
		}
	})
}

// A BOOL's register is garbage above the low byte, as the ABI allows.
func TestBOOLHasGarbage(t *testing.T) {
	r := send(objc.device, "supportsFamily:", 9999)
	if r == 0 || isTrue(r) {
		t.Fatalf("supportsFamily:9999 gives %#x", r)
	}
	for _, family := range []uintptr{1001, 1007, 5001} {
		if !isTrue(send(objc.device, "supportsFamily:", family)) {
			t.Errorf("family %d is not supported", family)
		}
	}
}

type blockLiteral struct {
	isa             uintptr
	flags, reserved int32
	invoke          uintptr
	descriptor      *[2]uintptr
}

// Eight goroutines share a queue, each with its own buffers and handlers.
func TestConcurrentUse(t *testing.T) {
	p := pipelineOf(t, kernelSource(`threadgroup uint x[64];
x[lid] = a[i];
threadgroup_barrier(mem_flags::mem_threadgroup);
b[i] = x[63 - lid] + simd_sum(1u);`))
	var handled atomic.Int64
	block := &blockLiteral{flags: 1 << 28, descriptor: new([2]uintptr)}
	block.invoke = purego.NewCallback(func(_, cb uintptr) uintptr {
		if send(cb, "status") == 4 {
			handled.Add(1)
		}
		return 0
	})
	const goroutines, rounds = 8, 20
	expect(t, func() {
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				queue := objc.queue
				if g%2 == 1 {
					queue = send(objc.device, "newCommandQueue")
					defer release(queue)
				}
				a, b := newBuffer(1024), newBuffer(1024)
				defer release(a.id)
				defer release(b.id)
				for r := range rounds {
					for i := range words[uint32](a) {
						words[uint32](a)[i] = uint32(g*1000 + r*10 + i)
					}
					pool(func() {
						cb := send(queue, "commandBuffer")
						e := send(cb, "computeCommandEncoder")
						encode(e, p, 4, 64, a, b)
						send(e, "endEncoding")
						send(cb, "addCompletedHandler:", uintptr(unsafe.Pointer(block)))
						send(cb, "commit")
						send(cb, "waitUntilCompleted")
						if err := bufferError(cb); err != nil {
							t.Error(err)
						}
					})
					for i, got := range words[uint32](b) {
						if want := uint32(g*1000+r*10+(i^63)) + 32; got != want {
							t.Errorf("goroutine %d, round %d, word %d: got %d, want %d", g, r, i, got, want)
							return
						}
					}
				}
			})
		}
		wg.Wait()
	})
	if handled.Load() != goroutines*rounds {
		t.Errorf("%d handlers saw a completed command buffer, want %d", handled.Load(), goroutines*rounds)
	}
}

// Every method that a driver calls is there, with the encoding of Apple's.
func TestTypeEncodings(t *testing.T) {
	for className, methods := range map[string]map[string]string{
		"EmuMTLDevice": {
			"name": "@@:", "hasUnifiedMemory": "B@:", "supportsFamily:": "B@:q", "maxBufferLength": "Q@:",
			"recommendedMaxWorkingSetSize": "Q@:", "maxThreadgroupMemoryLength": "Q@:", "registryID": "Q@:",
			"newCommandQueue": "@@:", "newBufferWithLength:options:": "@@:QQ",
			"newBufferWithBytesNoCopy:length:options:deallocator:": "@@:^vQQ@?", "newSharedEvent": "@@:", "newFence": "@@:",
			"newLibraryWithSource:options:error:": "@@:@@^@", "newComputePipelineStateWithFunction:error:": "@@:@^@",
		},
		"MTLCompileOptions": {
			"setFastMathEnabled:": "v@:B", "setMathMode:": "v@:q", "setLanguageVersion:": "v@:Q", "respondsToSelector:": "B@::",
		},
		"EmuMTLLibrary":              {"newFunctionWithName:": "@@:@"},
		"EmuMTLComputePipelineState": {"maxTotalThreadsPerThreadgroup": "Q@:", "threadExecutionWidth": "Q@:"},
		"EmuMTLBuffer":               {"contents": "^v@:", "length": "Q@:"},
		"EmuMTLCommandQueue":         {"commandBuffer": "@@:", "commandBufferWithUnretainedReferences": "@@:"},
		"EmuMTLCommandBuffer": {
			"computeCommandEncoder": "@@:", "computeCommandEncoderWithDispatchType:": "@@:Q", "blitCommandEncoder": "@@:",
			"encodeSignalEvent:value:": "v@:@Q", "encodeWaitForEvent:value:": "v@:@Q", "addCompletedHandler:": "v@:@?",
			"commit": "v@:", "waitUntilCompleted": "v@:", "status": "Q@:", "error": "@@:",
			"GPUStartTime": "d@:", "GPUEndTime": "d@:", "setLabel:": "v@:@",
		},
		"EmuMTLComputeCommandEncoder": {
			"setComputePipelineState:": "v@:@", "setBuffer:offset:atIndex:": "v@:@QQ", "setBufferOffset:atIndex:": "v@:QQ",
			"setBytes:length:atIndex:": "v@:^vQQ", "setThreadgroupMemoryLength:atIndex:": "v@:QQ",
			"dispatchThreadgroups:threadsPerThreadgroup:": "v@:{MTLSize=QQQ}{MTLSize=QQQ}",
			"memoryBarrierWithScope:":                     "v@:Q", "memoryBarrierWithResources:count:": "v@:^@Q",
			"updateFence:": "v@:@", "waitForFence:": "v@:@", "useResource:usage:": "v@:@Q",
			"endEncoding": "v@:", "setLabel:": "v@:@",
		},
		"EmuMTLBlitCommandEncoder": {
			copyName: "v@:@Q@QQ", "fillBuffer:range:value:": "v@:@{_NSRange=QQ}C",
			"updateFence:": "v@:@", "waitForFence:": "v@:@", "endEncoding": "v@:",
		},
		"EmuMTLSharedEvent": {
			"signaledValue": "Q@:", "setSignaledValue:": "v@:Q", "waitUntilSignaledValue:timeoutMS:": "B@:QQ",
		},
		"NSError": {"localizedDescription": "@@:", "code": "q@:", "domain": "@@:"},
		"NSArray": {"count": "Q@:", "objectAtIndex:": "@@:Q"},
	} {
		for name, want := range methods {
			m := raw(objc.instanceMethod, class(className), sel(name))
			if m == 0 {
				t.Errorf("[%s %s] is missing", className, name)
				continue
			}
			text := (*byte)(pointer(raw(objc.typeEncoding, m)))
			if got := unsafe.String(text, len(want)); got != want || *(*byte)(unsafe.Add(unsafe.Pointer(text), len(want))) != 0 {
				t.Errorf("[%s %s] has encoding %q, want %q", className, name, got, want)
			}
		}
	}
	options := send(class("MTLCompileOptions"), "new")
	defer release(options)
	if !isTrue(send(options, "respondsToSelector:", sel("setMathMode:"))) {
		t.Error("MTLCompileOptions does not respond to setMathMode:")
	}
}
