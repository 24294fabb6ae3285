package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// procs sets GOMAXPROCS for a test.
func procs(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// waitFor starts a waiter that sleeps and returns where its answer will be.
func waitFor(d *fakeDevice, w *fakeWork) *atomic.Pointer[error] {
	answer := new(atomic.Pointer[error])
	go func() {
		err := w.Wait(context.Background())
		answer.Store(&err)
	}()
	for asleep := false; !asleep; runtime.Gosched() {
		d.mu.Lock()
		asleep = d.parked > 0
		d.mu.Unlock()
	}
	return answer
}

// TestSlicesDeliver has one processor, kept busy by slices: the first progress point after the end must deliver it and let
// the waiter run.
func TestSlicesDeliver(t *testing.T) {
	settings(t)
	procs(t, 1)
	SetLowLatencyWait(false)
	d := newFake(t)
	w := d.start(nil)
	answer := waitFor(d, w)
	s := BeginSlices()
	defer s.End()
	for range 10 {
		s.Next()
	}
	require.Nil(t, answer.Load())
	close(w.end)
	s.Next()
	require.NotNil(t, answer.Load(), "the waiter did not run at the progress point")
	require.NoError(t, *answer.Load())
	require.Zero(t, d.joins.Load())
}

// TestSlicesYield lets other goroutines run though nothing is in flight.
func TestSlicesYield(t *testing.T) {
	procs(t, 1)
	var ran atomic.Bool
	s := BeginSlices()
	defer s.End()
	go ran.Store(true)
	yields := 0
	for ; yields < 4 && !ran.Load(); yields++ { // others may be due first
		for began := time.Now(); time.Since(began) < 2*yieldEvery; {
		}
		s.Next()
	}
	require.Less(t, yields, 4, "the runtime stopped it, not the progress point")
}

// TestNobodyBlocksBesideSlices: the blocking call begins when the last sliced work is over.
func TestNobodyBlocksBesideSlices(t *testing.T) {
	settings(t)
	procs(t, 4)
	SetLowLatencyWait(false)
	d := newFake(t)
	s, other := BeginSlices(), BeginSlices()
	w := d.start(nil)
	answer := waitFor(d, w)
	s.End()
	time.Sleep(5 * time.Millisecond)
	require.Zero(t, d.joins.Load())
	other.End()
	require.Eventually(t, func() bool { return d.joins.Load() == 1 }, 5*time.Second, time.Millisecond)
	close(w.end)
	require.Eventually(t, func() bool { return answer.Load() != nil }, 5*time.Second, time.Millisecond)
}

// TestFailureBesideSlices: a failure never signals, and its waiter hears of it all the same.
func TestFailureBesideSlices(t *testing.T) {
	settings(t)
	SetLowLatencyWait(false)
	broken := errors.New("broken")
	d := newFake(t)
	s := BeginSlices()
	defer s.End()
	w := d.start(broken)
	answer := waitFor(d, w)
	close(w.end)
	for began := time.Now(); answer.Load() == nil && time.Since(began) < 5*time.Second; {
		s.Next()
	}
	require.NotNil(t, answer.Load())
	require.Equal(t, broken, *answer.Load())
	require.Zero(t, d.joins.Load())
}

// TestOneDelivers has slices, polling waiters, the blocking goroutine and the timer look for the same ends, of work that
// succeeds and of work that fails: each is finished once, and each waiter gets the answer of its own work.
func TestOneDelivers(t *testing.T) {
	settings(t)
	SetSpinMicroseconds(20)
	d := newFake(t)
	stop := make(chan struct{})
	var slicers sync.WaitGroup
	for k := range 2 {
		slicers.Go(func() {
			for {
				s := BeginSlices()
				for range 50 {
					s.Next()
				}
				s.End()
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(k) * time.Millisecond):
				}
			}
		})
	}
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for round := range 100 {
				var err error
				if round%5 == client%5 {
					err = fmt.Errorf("client %d round %d", client, round)
				}
				w := d.start(err)
				time.AfterFunc(time.Duration(rand.IntN(300))*time.Microsecond, func() { close(w.end) })
				if got := w.Wait(context.Background()); got != err {
					t.Errorf("client %d round %d: %v", client, round, got)
				}
				if n := w.finished.Load(); n != 1 {
					t.Errorf("client %d round %d: finished %d times when its waiter was told", client, round, n)
				}
			}
		})
	}
	clients.Wait()
	close(stop)
	slicers.Wait()
}
