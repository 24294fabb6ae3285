package cpu

import (
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
)

// shares is how many pieces a worker gets on average: enough that one delayed
// worker does not hold the others up, few enough that handing out costs
// nothing.
const shares = 16

// Parallel calls f for disjoint ranges of rows that cover [0, n), over at most
// workers goroutines, one of them the caller's. A range starts at a multiple
// of morsel, which is rounded up to a multiple of 64, and is one morsel long,
// but for the last: after each the goroutine lets others run whose turn it is
// (gpu.Slices). worker is below workers and belongs to one goroutine, so that
// it may index partial results. No more than a morsel is one call of f, with
// nothing around it. A panic in f stops the handing out and is raised again,
// with the same value, on the caller's goroutine.
func Parallel(n, morsel, workers int, f func(worker, start, end int)) {
	if n <= 0 {
		return
	}
	morsel = (max(morsel, 1) + 63) &^ 63
	morsels := (n-1)/morsel + 1
	if morsels == 1 {
		f(0, 0, n)
		return
	}
	workers = max(min(workers, morsels), 1)
	t := team{n: n, morsel: morsel, step: ((morsels-1)/(workers*shares) + 1) * morsel, f: f}
	t.Add(workers - 1)
	for w := 1; w < workers; w++ {
		go func() {
			defer t.Done()
			t.work(w)
		}()
	}
	t.work(0)
	t.Wait()
	if p := t.fault.Load(); p != nil {
		panic(*p)
	}
}

// team is the state that the workers of one Parallel call share. They take step
// rows at a time, to be computed by morsels.
type team struct {
	sync.WaitGroup
	n, morsel, step int
	f               func(worker, start, end int)
	next            atomic.Int64
	fault           atomic.Pointer[any]
}

// work takes ranges until none is left.
func (t *team) work(worker int) {
	slices := gpu.BeginSlices()
	defer slices.End()
	defer func() {
		if p := recover(); p != nil {
			t.fault.CompareAndSwap(nil, &p)
			t.next.Store(int64(t.n))
		}
	}()
	for {
		start := int(t.next.Add(int64(t.step))) - t.step
		if start >= t.n {
			return
		}
		for end := min(start+t.step, t.n); start < end; start += t.morsel {
			t.f(worker, start, min(start+t.morsel, end))
			slices.Next()
		}
	}
}
