package cpu

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestParallel(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 1000, 4096, 20_000} {
		for _, morsel := range []int{0, 1, 64, 100, 1 << 12} {
			for _, workers := range []int{-1, 0, 1, 2, 3, 16} {
				seen := make([]atomic.Int32, n)
				busy := make([]atomic.Int32, max(workers, 1))
				var calls atomic.Int32
				Parallel(n, morsel, workers, func(worker, start, end int) {
					calls.Add(1)
					if busy[worker].Add(1) != 1 {
						t.Errorf("worker %d runs twice", worker)
					}
					defer busy[worker].Add(-1)
					step := (max(morsel, 1) + 63) &^ 63
					if start%step != 0 || start >= end || end-start > step || end != n && end%step != 0 {
						t.Errorf("n=%d morsel=%d: range [%d, %d)", n, morsel, start, end)
					}
					for i := start; i < end; i++ {
						seen[i].Add(1)
					}
				})
				for i := range seen {
					if seen[i].Load() != 1 {
						t.Fatalf("n=%d morsel=%d workers=%d: row %d seen %d times", n, morsel, workers, i, seen[i].Load())
					}
				}
				step := (max(morsel, 1) + 63) &^ 63
				if want := (n + step - 1) / step; int(calls.Load()) != want {
					t.Errorf("n=%d morsel=%d workers=%d: %d calls instead of %d", n, morsel, workers, calls.Load(), want)
				}
			}
		}
	}
}

func TestParallelPanic(t *testing.T) {
	boom := errors.New("boom")
	for _, workers := range []int{1, 4} {
		var running atomic.Int32
		func() {
			defer func() {
				if p := recover(); p != boom {
					t.Errorf("workers=%d: recovered %v", workers, p)
				}
				if k := running.Load(); k != 0 {
					t.Errorf("workers=%d: %d still run", workers, k)
				}
			}()
			Parallel(1<<16, 64, workers, func(_, start, end int) {
				running.Add(1)
				defer running.Add(-1)
				if end > 1<<15 {
					panic(boom)
				}
			})
			t.Errorf("workers=%d: no panic", workers)
		}()
	}
}

// A panic stops the handing out: the ranges that others are at end, but few
// more begin.
func TestParallelStops(t *testing.T) {
	const workers = 4
	var calls atomic.Int32
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		if k := calls.Load(); k == workers*shares {
			t.Errorf("all %d ranges ran", k)
		}
	}()
	Parallel(workers*shares*64, 64, workers, func(_, start, _ int) {
		calls.Add(1)
		if start == 0 {
			panic("first")
		}
		time.Sleep(20 * time.Millisecond)
	})
}
