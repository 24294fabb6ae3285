//go:build linux

package emulator

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"
)

const concurrent = 1 // MTLDispatchTypeConcurrent

// work is a set of kernels and buffers for tests of order.
type work struct {
	fill, read, high, count, peek id // pipelines
	a, b                          buffer
	fence, event                  id
}

func newWork(t *testing.T) *work {
	w := &work{
		fill:  pipelineOf(t, kernelSource("if (i < 64) b[i] = i + 1;")),
		read:  pipelineOf(t, kernelSource("if (i < 64) a[i] = b[i];")),
		high:  pipelineOf(t, kernelSource("if (i < 64) b[64 + i] = i;")),
		count: pipelineOf(t, kernelSource("atomic_fetch_add_explicit((device atomic_uint*)b, 1u, memory_order_relaxed);")),
		peek:  pipelineOf(t, kernelSource("a[i] = b[0];")),
		a:     newBuffer(4096),
		b:     newBuffer(4096),
		fence: send(objc.device, "newFence"),
		event: send(objc.device, "newSharedEvent"),
	}
	t.Cleanup(func() {
		for _, o := range []id{w.a.id, w.b.id, w.fence, w.event} {
			release(o)
		}
	})
	return w
}

// compute records dispatches; a pipeline of 0 is a memory barrier.
func (w *work) compute(cb id, kind int, pipelines ...id) {
	e := send(cb, "computeCommandEncoderWithDispatchType:", uintptr(kind))
	for _, p := range pipelines {
		if p == 0 {
			send(e, "memoryBarrierWithScope:", 1)
			continue
		}
		encode(e, p, 1, 64, w.a, w.b)
	}
	send(e, "endEncoding")
}

// fenced is the same between a fence's wait and update, as asked for.
func (w *work) fenced(cb id, wait, update bool, pipeline id) {
	e := send(cb, "computeCommandEncoderWithDispatchType:", concurrent)
	if wait {
		send(e, "waitForFence:", w.fence)
	}
	encode(e, pipeline, 1, 64, w.a, w.b)
	if update {
		send(e, "updateFence:", w.fence)
	}
	send(e, "endEncoding")
}

func (w *work) copyOut(cb id, wait bool) {
	e := send(cb, "blitCommandEncoder")
	if wait {
		send(e, "waitForFence:", w.fence)
	}
	send(e, copyName, w.b.id, 0, w.a.id, 0, 256)
	send(e, "endEncoding")
}

// barrierOver puts a barrier over one buffer between fill and read.
func (w *work) barrierOver(cb id, b buffer) {
	e := send(cb, "computeCommandEncoderWithDispatchType:", concurrent)
	encode(e, w.fill, 1, 64, w.a, w.b)
	list := []id{b.id}
	send(e, "memoryBarrierWithResources:count:", uintptr(unsafe.Pointer(&list[0])), 1)
	encode(e, w.read, 1, 64, w.a, w.b)
	send(e, "endEncoding")
}

// buffers commits one command buffer for each function, then waits for all.
func buffers(between func(i int, cb id), fills ...func(cb id)) {
	pool(func() {
		var all []id
		for i, fill := range fills {
			cb := send(objc.queue, "commandBuffer")
			fill(cb)
			send(cb, "commit")
			all = append(all, cb)
			if between != nil {
				between(i, cb)
			}
		}
		for _, cb := range all {
			send(cb, "waitUntilCompleted")
		}
	})
}

func TestMissingBarriers(t *testing.T) {
	one := func(fill func(w *work, cb id)) func(*work) {
		return func(w *work) { commit(func(cb id) { fill(w, cb) }) }
	}
	fill := func(w *work) func(cb id) { return func(cb id) { w.compute(cb, concurrent, w.fill) } }
	read := func(w *work) func(cb id) { return func(cb id) { w.compute(cb, concurrent, w.read) } }
	signal := func(w *work, value int) func(cb id) {
		return func(cb id) {
			fill(w)(cb)
			send(cb, "encodeSignalEvent:value:", w.event, uintptr(value))
		}
	}
	awaitThenRead := func(w *work) func(cb id) {
		return func(cb id) {
			send(cb, "encodeWaitForEvent:value:", w.event, 1)
			read(w)(cb)
		}
	}
	for _, c := range []struct {
		name   string
		broken bool
		f      func(w *work)
	}{
		{"dispatches without a barrier", true, one(func(w *work, cb id) { w.compute(cb, concurrent, w.fill, w.read) })},
		{"dispatches with a barrier", false, one(func(w *work, cb id) { w.compute(cb, concurrent, w.fill, 0, w.read) })},
		{"barrier before both", true, one(func(w *work, cb id) { w.compute(cb, concurrent, 0, w.fill, w.read) })},
		{"write after read", true, one(func(w *work, cb id) { w.compute(cb, concurrent, w.read, w.fill) })},
		{"two writers", true, one(func(w *work, cb id) { w.compute(cb, concurrent, w.fill, w.fill) })},
		{"two readers of b that write a", true, one(func(w *work, cb id) { w.compute(cb, concurrent, w.read, w.read) })},
		{"writers of different bytes", false, one(func(w *work, cb id) { w.compute(cb, concurrent, w.fill, w.high) })},
		{"serial encoder", false, one(func(w *work, cb id) { w.compute(cb, 0, w.fill, w.read, w.fill) })},
		{"atomics of two dispatches", false, one(func(w *work, cb id) { w.compute(cb, concurrent, w.count, w.count) })},
		{"atomic and plain", true, one(func(w *work, cb id) { w.compute(cb, concurrent, w.count, w.peek) })},
		{"barrier over the buffer", false, one(func(w *work, cb id) { w.barrierOver(cb, w.b) })},
		{"barrier over another buffer", true, one(func(w *work, cb id) { w.barrierOver(cb, w.a) })},

		{"encoders without a fence", true, one(func(w *work, cb id) {
			w.compute(cb, 0, w.fill)
			w.compute(cb, 0, w.read)
		})},
		{"encoders with a fence", false, one(func(w *work, cb id) {
			w.fenced(cb, false, true, w.fill)
			w.fenced(cb, true, false, w.read)
		})},
		{"fence that is not waited for", true, one(func(w *work, cb id) {
			w.fenced(cb, false, true, w.fill)
			w.fenced(cb, false, false, w.read)
		})},
		{"fence through a third encoder", false, one(func(w *work, cb id) {
			w.fenced(cb, false, true, w.fill)
			w.fenced(cb, true, true, w.high)
			w.fenced(cb, true, false, w.read)
		})},
		{"copy without a fence", true, one(func(w *work, cb id) {
			w.compute(cb, 0, w.fill)
			w.copyOut(cb, false)
		})},
		{"copy with a fence", false, one(func(w *work, cb id) {
			w.fenced(cb, false, true, w.fill)
			w.copyOut(cb, true)
		})},
		{"copies in one encoder", false, one(func(w *work, cb id) {
			e := send(cb, "blitCommandEncoder")
			send(e, "fillBuffer:range:value:", w.b.id, 0, 256, 7)
			send(e, copyName, w.b.id, 0, w.a.id, 0, 256)
			send(e, "endEncoding")
		})},

		{"command buffers without an event", true, func(w *work) { buffers(nil, fill(w), read(w)) }},
		{"command buffers with an event", false, func(w *work) { buffers(nil, signal(w, 1), awaitThenRead(w)) }},
		{"command buffers with a fence", false, func(w *work) {
			buffers(nil, func(cb id) { w.fenced(cb, false, true, w.fill) }, func(cb id) { w.fenced(cb, true, false, w.read) })
		}},
		{"host waits between", false, func(w *work) {
			buffers(func(_ int, cb id) { send(cb, "waitUntilCompleted") }, fill(w), read(w))
		}},
		{"host waits for a later command buffer", false, func(w *work) {
			buffers(func(i int, cb id) {
				if i == 1 {
					send(cb, "waitUntilCompleted")
				}
			}, fill(w), func(id) {}, read(w))
		}},
		{"host sees the status between", false, func(w *work) {
			buffers(func(_ int, cb id) {
				for send(cb, "status") < 4 {
					time.Sleep(100 * time.Microsecond)
				}
			}, fill(w), read(w))
		}},
		{"host sees the event between", false, func(w *work) {
			buffers(func(i int, _ id) {
				for i == 0 && send(w.event, "signaledValue") < 1 {
					time.Sleep(100 * time.Microsecond)
				}
			}, signal(w, 1), read(w))
		}},
		{"host waits for the event between", false, func(w *work) {
			buffers(func(i int, _ id) {
				if i == 0 && !isTrue(send(w.event, "waitUntilSignaledValue:timeoutMS:", 1, 5000)) {
					panic("the event was not signalled")
				}
			}, signal(w, 1), read(w))
		}},
		{"host passes the event on", false, func(w *work) {
			other := send(objc.device, "newSharedEvent")
			defer release(other)
			queue := send(objc.device, "newCommandQueue")
			defer release(queue)
			pool(func() { // committed before the work that it waits for
				late := send(queue, "commandBuffer")
				send(late, "encodeWaitForEvent:value:", other, 1)
				w.compute(late, 0, w.read)
				send(late, "commit")
				commit(func(cb id) { w.compute(cb, 0, w.fill) })
				send(other, "setSignaledValue:", 1)
				send(late, "waitUntilCompleted")
			})
		}},
	} {
		for _, order := range []int64{0, 1, 5} {
			t.Run(fmt.Sprintf("%s/order=%d", c.name, order), func(t *testing.T) {
				set(t, "order", order, 0)
				w := newWork(t)
				var parts []string
				if c.broken {
					parts = []string{"missing-barrier", "nothing orders them"}
				}
				expect(t, func() { c.f(w) }, parts...)
			})
		}
	}
}

// Metal itself orders uses of tracked buffers by two encoders.
func TestTrackedBuffers(t *testing.T) {
	set(t, "order", 5, 0)
	w := newWork(t)
	w.a = buffer{send(objc.device, "newBufferWithLength:options:", 4096, 0)}
	w.b = buffer{send(objc.device, "newBufferWithLength:options:", 4096, 0)}
	expect(t, func() {
		commit(func(cb id) {
			w.compute(cb, 0, w.fill)
			w.compute(cb, 0, w.read)
		})
	})
	if got := words[uint32](w.a)[63]; got != 64 {
		t.Fatalf("got %d, want 64", got)
	}
}

// tickets runs n commands that nothing orders, each of which draws a number,
// and returns the numbers.
func tickets(t *testing.T, n int, commands func(e func(i int, encoder id))) []uint32 {
	p := pipelineOf(t, header+`kernel void k(device atomic_uint* next [[buffer(0)]], device uint* out [[buffer(1)]],
	constant uint& i [[buffer(2)]]) { out[i] = atomic_fetch_add_explicit(next, 1u, memory_order_relaxed); }`)
	next, out := newBuffer(64), newBuffer(4096)
	expect(t, func() {
		commands(func(i int, encoder id) {
			setBytes(encoder, uint32(i), 2)
			encode(encoder, p, 1, 1, next, out)
		})
	})
	return words[uint32](out)[:n]
}

func TestUnorderedWorkRunsInAnyOrder(t *testing.T) {
	const n = 8
	forward, backward := []uint32{0, 1, 2, 3, 4, 5, 6, 7}, []uint32{7, 6, 5, 4, 3, 2, 1, 0}
	dispatches := func(draw func(int, id)) {
		commit(func(cb id) {
			e := send(cb, "computeCommandEncoderWithDispatchType:", concurrent)
			for i := range n {
				draw(i, e)
			}
			send(e, "endEncoding")
		})
	}
	encoders := func(draw func(int, id)) {
		commit(func(cb id) {
			for i := range n {
				e := send(cb, "computeCommandEncoder")
				draw(i, e)
				send(e, "endEncoding")
			}
		})
	}
	commandBuffers := func(draw func(int, id)) {
		SetOption("delay_us", 20000) // all are committed before the first starts
		defer SetOption("delay_us", 0)
		var fills []func(id)
		for i := range n {
			fills = append(fills, func(cb id) {
				e := send(cb, "computeCommandEncoder")
				draw(i, e)
				send(e, "endEncoding")
			})
		}
		buffers(nil, fills...)
	}
	for _, c := range []struct {
		name     string
		commands func(func(int, id))
		order    int64
		want     []uint32 // nil: a permutation that is neither
	}{
		{"dispatches", dispatches, 0, forward},
		{"dispatches", dispatches, 1, backward},
		{"dispatches", dispatches, 5, nil},
		{"encoders", encoders, 0, forward},
		{"encoders", encoders, 5, nil},
		{"command buffers", commandBuffers, 0, forward},
		{"command buffers", commandBuffers, 5, nil},
	} {
		t.Run(fmt.Sprintf("%s/order=%d", c.name, c.order), func(t *testing.T) {
			set(t, "order", c.order, 0)
			got := tickets(t, n, c.commands)
			if c.want != nil && !slices.Equal(got, c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			if c.want == nil && (slices.Equal(got, forward) || slices.Equal(got, backward)) {
				t.Fatalf("got %v, want another order", got)
			}
			sorted := slices.Clone(got)
			slices.Sort(sorted)
			if !slices.Equal(sorted, forward) {
				t.Fatalf("got %v, which is no permutation", got)
			}
		})
	}
}
