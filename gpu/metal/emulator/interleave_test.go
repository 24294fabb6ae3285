//go:build linux

package emulator

import (
	"fmt"
	"testing"
	"time"
)

const (
	hashSlots = 64
	hashKeys  = 40 // from 1; four neighbours begin at the same slot
)

// insertKernel inserts a key for each thread into an open-addressing table at b.
func insertKernel(t *testing.T, attempt string) id {
	return pipelineOf(t, kernelSource(fmt.Sprintf(`
	device atomic_uint* slots = (device atomic_uint*)b;
	uint key = i %% %du + 1u, at = (key / 4u) %% %du;
	for (;;) {
		%s
		at = (at + 1u) %% %du;
	}`, hashKeys, hashSlots, attempt, hashSlots)))
}

// insertAll runs the kernel and lists what is wrong with the table.
func insertAll(t *testing.T, kernel id) (wrong []string) {
	a, b := newBuffer(4096), newBuffer(4096)
	defer release(a.id)
	defer release(b.id)
	clear(words[uint32](b))
	expect(t, func() {
		if err := launch(kernel, 6, 64, a, b); err != nil {
			t.Fatal(err)
		}
	})
	count := map[uint32]int{}
	for _, key := range words[uint32](b)[:hashSlots] {
		count[key]++
	}
	for key := uint32(1); key <= hashKeys; key++ {
		if count[key] != 1 {
			wrong = append(wrong, fmt.Sprintf("key %d is there %d times", key, count[key]))
		}
	}
	return wrong
}

// A hash table's insertion that looks, then writes is right as long as threadgroups run one after the other. With
// several at a time, switched at atomics, it loses keys; the one that compares and exchanges never does.
func TestHashInsertInterleaving(t *testing.T) {
	look := insertKernel(t, `uint seen = atomic_load_explicit(slots + at, memory_order_relaxed);
		if (seen == key) break;
		if (seen == 0u) { atomic_store_explicit(slots + at, key, memory_order_relaxed); break; }`)
	exchange := insertKernel(t, `uint seen = 0u;
		while (seen == 0u && !atomic_compare_exchange_weak_explicit(slots + at, &seen, key, memory_order_relaxed, memory_order_relaxed)) {}
		if (seen == 0u || seen == key) break;`)
	for order := int64(0); order < 2; order++ {
		set(t, "order", order, 0)
		if wrong := insertAll(t, look); wrong != nil {
			t.Errorf("order=%d: threadgroups are interleaved: %q", order, wrong)
		}
	}
	found := 0
	for order := int64(2); order < 10; order++ {
		set(t, "order", order, 0)
		if insertAll(t, look) != nil {
			found++
		}
		if wrong := insertAll(t, exchange); wrong != nil {
			t.Errorf("order=%d: %q", order, wrong)
		}
	}
	if found < 4 {
		t.Errorf("the wrong insertion is seen with %d of 8 seeds", found)
	}
}

// The same seed makes the same choices.
func TestInterleavingIsRepeatable(t *testing.T) {
	ticket := pipelineOf(t, kernelSource("b[i + 1] = atomic_fetch_add_explicit((device atomic_uint*)b, 1u, memory_order_relaxed);"))
	run := func(order int64) string {
		set(t, "order", order, 0)
		a, b := newBuffer(4096), newBuffer(4096)
		defer release(a.id)
		defer release(b.id)
		clear(words[uint32](b))
		expect(t, func() {
			if err := launch(ticket, 4, 64, a, b); err != nil {
				t.Fatal(err)
			}
		})
		return fmt.Sprint(words[uint32](b)[:257])
	}
	first, again, other := run(5), run(5), run(6)
	if first != again {
		t.Error("two runs with one seed differ")
	}
	if first == other {
		t.Error("two seeds give one order")
	}
}

// A violation names the seed that shows it.
func TestSeedIsNamed(t *testing.T) {
	set(t, "order", 77, 0)
	p := pipelineOf(t, kernelSource("b[lid] = i;"))
	expect(t, func() {
		if err := launch(p, 2, 32, newBuffer(4096), newBuffer(4096)); err == nil {
			t.Error("no error")
		}
	}, "data-race", "[order=77]")
}

// Threadgroups that wait for each other get nowhere where they run one after the other.
func TestNoForwardProgress(t *testing.T) {
	set(t, "kernel_timeout_ms", 20, 60000)
	set(t, "order", 1, 0)
	p := pipelineOf(t, kernelSource(`
	device atomic_uint* flag = (device atomic_uint*)b;
	if (i == 0) atomic_store_explicit(flag, 1u, memory_order_relaxed);
	if (i == 32) while (atomic_load_explicit(flag, memory_order_relaxed) == 0u) {}`))
	expect(t, func() { launch(p, 2, 32, newBuffer(4096), newBuffer(4096)) }, "timeout")
}

// A loop that touches no memory ends too.
func TestEmptyLoopTimesOut(t *testing.T) {
	set(t, "kernel_timeout_ms", 20, 60000)
	p := pipelineOf(t, kernelSource("uint n = i, step = a[0]; while (n != 3u) n += step; b[i] = n;"))
	begin := time.Now()
	expect(t, func() { launch(p, 1, 1, newBuffer(4096), newBuffer(4096)) }, "timeout")
	if d := time.Since(begin); d > 20*time.Second {
		t.Errorf("after %v", d)
	}
}
