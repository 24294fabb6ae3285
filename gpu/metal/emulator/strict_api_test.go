//go:build linux

package emulator

import (
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// mapPages returns memory aligned to 16 KiB outside the Go heap.
func mapPages(t testing.TB, bytes int) []byte {
	t.Helper()
	const page = 16384
	m, err := syscall.Mmap(-1, 0, bytes+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	skip := -uintptr(unsafe.Pointer(&m[0])) & (page - 1)
	return m[skip : int(skip)+bytes]
}

// encoder runs f with an open compute encoder of a command buffer that is not committed.
func encoder(f func(e id)) {
	pool(func() {
		e := send(send(objc.queue, "commandBuffer"), "computeCommandEncoder")
		f(e)
		send(e, "endEncoding")
	})
}

// blit is the same with a blit encoder.
func blit(f func(e id)) {
	pool(func() {
		e := send(send(objc.queue, "commandBuffer"), "blitCommandEncoder")
		f(e)
		send(e, "endEncoding")
	})
}

const copyName = "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:"

func TestMisuseIsFound(t *testing.T) {
	sum := pipelineOf(t, header+`kernel void k(device const long* in [[buffer(0)]], device long* out [[buffer(1)]],
		constant long& rhs [[buffer(2)]], threadgroup long* tile [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
	out[i] = in[i] + rhs;
}`)
	plain := pipelineOf(t, kernelSource("b[i] = a[i];"))
	b := newBuffer(4096)
	for _, c := range []struct {
		name  string
		parts []string
		f     func()
	}{
		{"unknown selector", []string{"unrecognized-selector", "[EmuMTLDevice fooBar:]"}, func() {
			send(objc.device, "fooBar:", 1)
		}},
		{"unknown class method", []string{"unrecognized-selector", "+[NSString frob]"}, func() {
			send(class("NSString"), "frob")
		}},
		{"no selector", []string{"bad-selector"}, func() { raw(objc.msgSend, objc.device, 12345) }},
		{"wild pointer", []string{"bad-object"}, func() {
			var z [64]byte
			send(uintptr(unsafe.Pointer(&z)), "length")
		}},
		{"use after release", []string{"use-after-free", "length sent to deallocated EmuMTLBuffer"}, func() {
			x := newBuffer(64)
			release(x.id)
			send(x.id, "length")
		}},
		{"release once too often", []string{"use-after-free", "release"}, func() {
			x := newBuffer(64)
			release(x.id)
			release(x.id)
		}},
		{"message to nil", []string{"nil-message", "length"}, func() {
			SetOption("nilstrict", 1)
			defer SetOption("nilstrict", 0)
			send(0, "length")
		}},
		{"no autorelease pool", []string{"no-pool"}, func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			send(objc.device, "name")
		}},
		{"pool popped on another thread", []string{"pool", "runtime.LockOSThread is missing"}, func() {
			tokens := make(chan uintptr)
			go func() {
				runtime.LockOSThread() // the thread dies with the goroutine
				tokens <- raw(objc.poolPush)
			}()
			token := <-tokens
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			raw(objc.poolPop, token)
		}},
		{"pool popped twice", []string{"pool", "twice"}, func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			token := raw(objc.poolPush)
			raw(objc.poolPop, token)
			raw(objc.poolPop, token)
		}},
		{"string that is not UTF-8", []string{"nsstring", "encoding 1"}, func() {
			b := []byte("x")
			s := send(class("NSString"), "alloc")
			release(send(s, "initWithBytes:length:encoding:", uintptr(unsafe.Pointer(&b[0])), 1, 1))
		}},

		{"commit with open encoder", []string{"commit", "endEncoding is missing"}, func() {
			pool(func() {
				cb := send(objc.queue, "commandBuffer")
				e := send(cb, "computeCommandEncoder")
				send(cb, "commit")
				send(e, "endEncoding")
			})
		}},
		{"signal with open encoder", []string{"encoder", "encodeSignalEvent"}, func() {
			pool(func() {
				cb := send(objc.queue, "commandBuffer")
				e := send(cb, "computeCommandEncoder")
				event := send(objc.device, "newSharedEvent")
				send(cb, "encodeSignalEvent:value:", event, 1)
				send(e, "endEncoding")
				release(event)
			})
		}},
		{"encoder dropped", []string{"encoder", "released without endEncoding"}, func() {
			pool(func() { send(send(objc.queue, "commandBuffer"), "computeCommandEncoder") })
		}},
		{"two encoders at once", []string{"encoder", "still open"}, func() {
			pool(func() {
				cb := send(objc.queue, "commandBuffer")
				a, b := send(cb, "computeCommandEncoder"), send(cb, "blitCommandEncoder")
				send(a, "endEncoding")
				send(b, "endEncoding")
			})
		}},
		{"call after endEncoding", []string{"encoder", "after endEncoding"}, func() {
			pool(func() {
				e := send(send(objc.queue, "commandBuffer"), "computeCommandEncoder")
				send(e, "endEncoding")
				send(e, "setBuffer:offset:atIndex:", b.id, 0, 0)
			})
		}},
		{"commit twice", []string{"commit", "already committed"}, func() {
			commit(func(cb id) { send(cb, "commit") })
		}},
		{"encode after commit", []string{"encoder", "committed"}, func() {
			pool(func() {
				cb := send(objc.queue, "commandBuffer")
				send(cb, "commit")
				send(cb, "computeCommandEncoder")
				send(cb, "waitUntilCompleted")
			})
		}},
		{"handler after commit", []string{"commit", "addCompletedHandler: after commit"}, func() {
			commit(func(cb id) {
				send(cb, "commit")
				send(cb, "waitUntilCompleted")
				send(cb, "addCompletedHandler:", 0)
			})
		}},
		{"wait before commit", []string{"commit", "never return"}, func() {
			pool(func() { send(send(objc.queue, "commandBuffer"), "waitUntilCompleted") })
		}},
		{"event that does not rise", []string{"event", "not above"}, func() {
			event := send(objc.device, "newSharedEvent")
			commit(func(cb id) {
				send(cb, "encodeSignalEvent:value:", event, 5)
				send(cb, "encodeSignalEvent:value:", event, 5)
			})
			release(event)
		}},
		{"fence on two queues", []string{"fence", "another queue"}, func() {
			fence, other := send(objc.device, "newFence"), send(objc.device, "newCommandQueue")
			pool(func() {
				for _, q := range []id{objc.queue, other} {
					e := send(send(q, "commandBuffer"), "computeCommandEncoder")
					send(e, "updateFence:", fence)
					send(e, "endEncoding")
				}
			})
			release(fence)
			release(other)
		}},

		{"no pipeline", []string{"dispatch", "no compute pipeline"}, func() {
			encoder(func(e id) { dispatch(e, line(1), line(1)) })
		}},
		{"pipeline that is none", []string{"bad-object", "setComputePipelineState:"}, func() {
			encoder(func(e id) { send(e, "setComputePipelineState:", b.id) })
		}},
		{"missing binding", []string{"dispatch", "missing buffer binding at index 1 for b[0]"}, func() {
			encoder(func(e id) { encode(e, plain, 1, 32, b) })
		}},
		{"argument too short", []string{"dispatch", "rhs needs 8"}, func() {
			encoder(func(e id) {
				setBytes(e, int32(1), 2)
				send(e, "setThreadgroupMemoryLength:atIndex:", 64, 0)
				encode(e, sum, 1, 32, b, b)
			})
		}},
		{"no threadgroup memory", []string{"dispatch", "no threadgroup memory length set at index 0 for tile"}, func() {
			encoder(func(e id) {
				setBytes(e, int64(1), 2)
				encode(e, sum, 1, 32, b, b)
			})
		}},
		{"threadgroup memory not a multiple of 16", []string{"encoder", "multiple of 16"}, func() {
			encoder(func(e id) { send(e, "setThreadgroupMemoryLength:atIndex:", 24, 0) })
		}},
		{"misaligned offset", []string{"dispatch", "not aligned to its 4-byte elements"}, func() {
			encoder(func(e id) {
				send(e, "setComputePipelineState:", plain)
				send(e, "setBuffer:offset:atIndex:", b.id, 2, 0)
				send(e, "setBuffer:offset:atIndex:", b.id, 0, 1)
				dispatch(e, line(1), line(1))
			})
		}},
		{"offset past the end", []string{"encoder", "past the buffer"}, func() {
			encoder(func(e id) { send(e, "setBuffer:offset:atIndex:", b.id, 4096, 0) })
		}},
		{"index too large", []string{"encoder", "index 31"}, func() {
			encoder(func(e id) { send(e, "setBuffer:offset:atIndex:", b.id, 0, 31) })
		}},
		{"setBytes too long", []string{"encoder", "1 to 4096"}, func() {
			encoder(func(e id) { send(e, "setBytes:length:atIndex:", send(b.id, "contents"), 4097, 0) })
		}},
		{"too many threads", []string{"dispatch", "the pipeline allows 1024"}, func() {
			encoder(func(e id) { encode(e, plain, 1, 2048, b, b) })
		}},
		{"no threadgroups", []string{"dispatch", "MTLSize"}, func() {
			encoder(func(e id) { encode(e, plain, 0, 32, b, b) })
		}},
		{"MTLSize by the other convention", []string{"dispatch", "MTLSize"}, func() {
			encoder(func(e id) {
				send(e, "setComputePipelineState:", plain)
				const name = "dispatchThreadgroups:threadsPerThreadgroup:"
				groups, threads := line(1), line(32)
				if runtime.GOARCH == "amd64" { // arm64's way on amd64
					send(e, name, uintptr(unsafe.Pointer(&groups)), uintptr(unsafe.Pointer(&threads)))
				} else { // registers hold the addresses of zeros
					z := make([]uintptr, 8)
					send(e, name, uintptr(unsafe.Pointer(&z[0])), uintptr(unsafe.Pointer(&z[0])), 0, 0, 1, 1, 1, 32)
				}
			})
		}},
		{"barrier over no object", []string{"bad-object", "memoryBarrierWithResources:count:"}, func() {
			encoder(func(e id) {
				list := []id{objc.queue}
				send(e, "memoryBarrierWithResources:count:", uintptr(unsafe.Pointer(&list[0])), 1)
			})
		}},
		{"barrier of no scope", []string{"encoder", "no scope"}, func() {
			encoder(func(e id) { send(e, "memoryBarrierWithScope:", 0) })
		}},

		{"empty buffer", []string{"buffer", "length 0"}, func() { newBuffer(0) }},
		{"no-copy pointer not aligned", []string{"buffer", "multiples of the page size"}, func() {
			wrapBuffer(mapPages(t, 1<<15)[64 : 64+1<<14])
		}},
		{"no-copy length not aligned", []string{"buffer", "multiples of the page size"}, func() {
			wrapBuffer(mapPages(t, 1<<15)[:100])
		}},
		{"copy past the end", []string{"blit", "destination buffer of 64 bytes"}, func() {
			small := newBuffer(64)
			blit(func(e id) { send(e, copyName, b.id, 0, small.id, 32, 64) })
			release(small.id)
		}},
		{"copy of an odd size", []string{"blit", "multiples of 4"}, func() {
			blit(func(e id) { send(e, copyName, b.id, 0, b.id, 1024, 6) })
		}},
		{"overlapping copy", []string{"blit", "overlap"}, func() {
			blit(func(e id) { send(e, copyName, b.id, 0, b.id, 32, 64) })
		}},
		{"fill past the end", []string{"blit", "4096 bytes"}, func() {
			blit(func(e id) { send(e, "fillBuffer:range:value:", b.id, 4092, 8, 1) })
		}},
		{"fill of poisoned bytes", []string{"poisoned"}, func() {
			p := pointer(send(b.id, "contents") + 100)
			Poison(p, 4)
			defer Unpoison(p, 4)
			commit(func(cb id) {
				e := send(cb, "blitCommandEncoder")
				send(e, "fillBuffer:range:value:", b.id, 96, 32, 1)
				send(e, "endEncoding")
			})
		}},
		{"unretained fence freed too early", []string{"use-after-free", "EmuMTLFence", "before the GPU used it"}, func() {
			SetOption("delay_us", 20000)
			defer SetOption("delay_us", 0)
			pool(func() {
				fence := send(objc.device, "newFence")
				cb := send(objc.queue, "commandBufferWithUnretainedReferences")
				e := send(cb, "computeCommandEncoder")
				send(e, "updateFence:", fence)
				send(e, "endEncoding")
				send(cb, "commit")
				release(fence)
				send(cb, "waitUntilCompleted")
			})
		}},
		{"unretained buffer freed too early", []string{"use-after-free", "released before the GPU used it"}, func() {
			SetOption("delay_us", 20000)
			defer SetOption("delay_us", 0)
			pool(func() {
				x := newBuffer(4096)
				cb := send(objc.queue, "commandBufferWithUnretainedReferences")
				e := send(cb, "computeCommandEncoder")
				encode(e, plain, 1, 32, x, b)
				send(e, "endEncoding")
				send(cb, "commit")
				release(x.id)
				send(cb, "waitUntilCompleted")
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, c.f, c.parts...) })
	}
}

func TestTwoDevices(t *testing.T) {
	set(t, "devices", 2, 1)
	all := raw(objc.copyAllDevices)
	defer release(all)
	if n := send(all, "count"); n != 2 {
		t.Fatalf("%d devices", n)
	}
	first, second := send(all, "objectAtIndex:", 0), send(all, "objectAtIndex:", 1)
	if first != objc.device || send(first, "registryID") == send(second, "registryID") {
		t.Fatal("devices are not told apart")
	}
	foreign := send(second, "newBufferWithLength:options:", 64, untracked)
	defer release(foreign)
	expect(t, func() {
		encoder(func(e id) { send(e, "setBuffer:offset:atIndex:", foreign, 0, 0) })
	}, "foreign-device", "setBuffer:offset:atIndex:")
	expect(t, func() { send(all, "objectAtIndex:", 2) }, "nsarray", "beyond bounds")
}

// Nothing that the tests above made stays alive.
func TestNothingLeaks(t *testing.T) {
	release(newBuffer(64).id)
	before := Live("EmuMTLBuffer")
	pipeline := pipelineOf(t, kernelSource("b[i] = a[i];"))
	defer release(pipeline)
	a, b := newBuffer(4096), newBuffer(4096)
	if err := launch(pipeline, 1, 32, a, b); err != nil {
		t.Fatal(err)
	}
	release(a.id)
	release(b.id)
	// waitUntilCompleted returns before the queue drops its references.
	deadline := time.Now().Add(5 * time.Second)
	for Live("EmuMTLBuffer") > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := Live("EmuMTLBuffer"); n > before {
		t.Errorf("%d buffers more than before", n-before)
	}
	if Live("NoSuchClass") != -1 {
		t.Error("a class that does not exist has live objects")
	}
}

func TestMessagesAreCounted(t *testing.T) {
	before := Messages()
	send(objc.device, "registryID")
	if Messages() <= before {
		t.Fatal("a message was not counted")
	}
}
