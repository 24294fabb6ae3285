package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// notifyingWork is fakeWork whose driver tells of success from a thread of its own.
type notifyingWork struct {
	fakeWork
	asked chan struct{}
}

func (w *notifyingWork) Notify(ended chan<- struct{}) bool {
	close(w.asked)
	go func() {
		<-w.end
		if w.err == nil { // drivers may fail to tell of failures
			ended <- struct{}{}
		}
	}()
	return true
}

func strategies(t *testing.T, f func(t *testing.T, s WaitStrategy)) {
	for s := range strategyCount {
		t.Run(s.String(), func(t *testing.T) {
			settings(t)
			SetWaitStrategy(s)
			t.Cleanup(func() { SetWaitStrategy(WaitSpinThenBlock) })
			require.Equal(t, s, WaitStrategyInForce())
			f(t, s)
		})
	}
}

func TestStrategies(t *testing.T) {
	broken := errors.New("broken")
	strategies(t, func(t *testing.T, s WaitStrategy) {
		for _, procs := range []int{1, 2} {
			for _, err := range []error{nil, broken} {
				func() {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					d := newFake(t)
					w := d.start(err)
					time.AfterFunc(3*time.Millisecond, func() { close(w.end) })
					require.Equal(t, err, w.Wait(context.Background()))
					require.EqualValues(t, 1, w.finished.Load())
				}()
			}
		}
		d := newFake(t)
		w := d.start(nil)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, w.Wait(ctx), context.DeadlineExceeded)
		require.Zero(t, w.finished.Load(), "the context ends the waiting, never the work")
		close(w.end)
		require.NoError(t, w.Wait(context.Background()))
	})
	SetWaitStrategy(strategyCount)
	require.Equal(t, WaitSpinThenBlock, WaitStrategyInForce())
	require.Equal(t, "unknown", strategyCount.String())
}

func TestCallback(t *testing.T) {
	settings(t)
	SetWaitStrategy(WaitCallback)
	defer SetWaitStrategy(WaitSpinThenBlock)
	for _, err := range []error{nil, errors.New("broken")} {
		d := newFake(t)
		w := &notifyingWork{fakeWork: fakeWork{end: make(chan struct{}), err: err, joins: &d.joins}, asked: make(chan struct{})}
		d.Start(&w.Completion, w)
		go func() {
			<-w.asked
			close(w.end)
		}()
		require.Equal(t, err, w.Wait(context.Background()))
		require.Zero(t, d.joins.Load(), "nobody blocked in the driver")
	}
}

// Work ends in random order, some of it badly, while its waiters wait by every strategy. What the work wrote must be there
// when its waiter is released, and a failure must reach its own waiters and nobody else's.
func TestStrategiesReleaseNobodyEarly(t *testing.T) {
	strategies(t, func(t *testing.T, s WaitStrategy) {
		d := newFake(t)
		const works = 60
		type job struct {
			*fakeWork
			result int // written by the device, read by waiters: the race detector watches
		}
		jobs := make([]*job, works)
		for i := range jobs {
			var err error
			if i%5 == 3 {
				err = fmt.Errorf("job %d failed", i)
			}
			jobs[i] = &job{fakeWork: d.start(err)}
		}
		var all sync.WaitGroup
		for i, j := range jobs {
			for range 2 {
				all.Go(func() {
					err := j.Wait(context.Background())
					switch {
					case err != j.err:
						t.Errorf("job %d: %v, not %v", i, err, j.err)
					case j.result != i+1:
						t.Errorf("job %d was released with %d", i, j.result)
					}
				})
			}
		}
		for _, i := range rand.Perm(works) {
			jobs[i].result = i + 1
			close(jobs[i].end)
			if i%7 == 0 {
				time.Sleep(50 * time.Microsecond)
			}
		}
		all.Wait()
		for _, j := range jobs {
			require.EqualValues(t, 1, j.finished.Load())
		}
	})
}

func ExampleSetWaitStrategy() {
	SetWaitStrategy(WaitBlock)
	fmt.Println(WaitStrategyInForce())
	SetWaitStrategy(WaitSpinThenBlock)
	fmt.Println(WaitStrategyInForce())
	// Output:
	// block
	// spin, then block
}

func ExampleWaitStrategyInForce() {
	fmt.Println(WaitStrategyInForce())
	// Output: spin, then block
}
