//go:build linux

package emulator

import (
	"testing"
	"time"
)

// inFlight runs a kernel on private copies, then the host's part, then lets the copies go back.
func inFlight(t *testing.T, body string, host func(a, b []uint32)) (a, b []uint32) {
	set(t, "line_writeback", 1, 0)
	set(t, "hold_us", 60e6, 0)
	p := pipelineOf(t, kernelSource(body))
	ba, bb := newBuffer(4096), newBuffer(4096)
	t.Cleanup(func() { release(ba.id); release(bb.id) })
	a, b = words[uint32](ba), words[uint32](bb)
	clear(a)
	clear(b)
	pool(func() {
		cb := send(objc.queue, "commandBuffer")
		e := send(cb, "computeCommandEncoder")
		encode(e, p, 1, 32, ba, bb)
		send(e, "endEncoding")
		send(cb, "commit")
		for begin := time.Now(); raw(objc.holding) == 0; time.Sleep(time.Millisecond) { // until the kernel has run
			if time.Since(begin) > 10*time.Second {
				t.Fatal("the dispatch does not hold")
			}
		}
		host(a, b)
		SetOption("hold_us", 0)
		send(cb, "waitUntilCompleted")
	})
	return a, b
}

func TestHostInFlight(t *testing.T) {
	const fill = "if (i < 4) b[i] = a[i] + 1;"
	t.Run("write to a neighbour in the line is lost", func(t *testing.T) {
		expect(t, func() {
			_, b := inFlight(t, fill, func(_, b []uint32) { b[9] = 5 })
			if b[9] != 0 || b[0] != 1 {
				t.Errorf("b[0] = %d, b[9] = %d, want 1 and 0", b[0], b[9])
			}
		}, "host-access", "false sharing")
	})
	t.Run("write to another line stays", func(t *testing.T) {
		expect(t, func() {
			_, b := inFlight(t, fill, func(_, b []uint32) { b[32] = 5 })
			if b[32] != 5 || b[3] != 1 {
				t.Errorf("b[3] = %d, b[32] = %d, want 1 and 5", b[3], b[32])
			}
		})
	})
	t.Run("write to what the kernel reads", func(t *testing.T) {
		expect(t, func() { inFlight(t, fill, func(a, _ []uint32) { a[2] = 8 }) }, "host-access", "which the kernel reads")
	})
	t.Run("write to what the kernel writes", func(t *testing.T) {
		expect(t, func() { inFlight(t, fill, func(_, b []uint32) { b[2] = 8 }) }, "host-access", "which the kernel writes too")
	})
	t.Run("read sees old values", func(t *testing.T) {
		expect(t, func() {
			var early uint32
			_, b := inFlight(t, fill, func(_, b []uint32) { early = b[0] })
			if early != 0 || b[0] != 1 {
				t.Errorf("in flight %d, at last %d; want 0 and 1", early, b[0])
			}
		})
	})
}

// Private copies change nothing for programs that keep the rules.
func TestPrivateCopiesAreInvisible(t *testing.T) {
	set(t, "line_writeback", 1, 0)
	w := newWork(t)
	clear(words[uint32](w.b))
	expect(t, func() {
		if err := commit(func(cb id) { w.compute(cb, concurrent, w.fill, 0, w.read, 0, w.count, w.count) }); err != nil {
			t.Fatal(err)
		}
	})
	if b := words[uint32](w.b); b[0] != 129 || b[63] != 64 || words[uint32](w.a)[5] != 6 {
		t.Errorf("b[0] = %d, b[63] = %d", b[0], b[63])
	}
	expect(t, func() { commit(func(cb id) { w.compute(cb, concurrent, w.fill, w.read) }) }, "missing-barrier")
	slack := pointer(send(w.a.id, "contents") + 128)
	Poison(slack, 64)
	defer Unpoison(slack, 64)
	expect(t, func() { commit(func(cb id) { w.compute(cb, concurrent, w.read) }) }, "poisoned", "byte offset 128")
}

// A share of pipelines fails for no reason, and the next try is a new one.
func TestPipelinesFailAtRandom(t *testing.T) {
	library, err := newLibrary(kernelSource("b[i] = a[i];"))
	if err != nil {
		t.Fatal(err)
	}
	set(t, "fail_pipeline_percent", 30, 0)
	const tries = 200
	failed := 0
	for range tries {
		p, err := newPipeline(library, "k")
		if err != nil {
			failed++
			continue
		}
		release(p)
	}
	if failed < tries/5 || failed > tries*2/5 {
		t.Errorf("%d of %d failed, want about 30 in 100", failed, tries)
	}
}
