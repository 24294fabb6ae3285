package gpu

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ends are told promptly without anybody who waits, by one goroutine, once each, failures too, and beside waiters.
func TestOnEnd(t *testing.T) {
	settings(t)
	d := newFake(t)
	before := runtime.NumGoroutine()
	const n = 500
	works, told := make([]*fakeWork, n), make([]atomic.Int32, n)
	var all, waiters sync.WaitGroup
	for i := range works {
		var err error
		if i%7 == 3 {
			err = errors.New("broken")
		}
		works[i] = d.start(err)
		all.Add(1)
		works[i].OnEnd(func() {
			if told[i].Add(1) == 1 {
				all.Done()
			}
			if !works[i].Done() || works[i].finished.Load() != 1 {
				t.Errorf("work %d is told of before its end", i)
			}
		})
	}
	require.Less(t, runtime.NumGoroutine(), before+10)
	require.Zero(t, told[0].Load())
	for i := range 20 {
		waiters.Go(func() { _ = works[i].Wait(context.Background()) })
	}
	start := time.Now()
	for i := range works {
		close(works[n-1-i].end)
	}
	all.Wait()
	waiters.Wait()
	t.Logf("told in %v", time.Since(start))
	for i := range told {
		require.EqualValues(t, 1, told[i].Load())
	}
	require.Eventually(t, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.parked == 0 && !d.joining
	}, 5*time.Second, time.Millisecond)

	late := d.start(nil)
	close(late.end)
	require.NoError(t, late.Wait(context.Background()))
	ended := make(chan struct{}, 1)
	late.OnEnd(func() { ended <- struct{}{} })
	<-ended

	lost := d.start(nil)
	lost.OnEnd(func() { ended <- struct{}{} })
	d.Fail(ErrDeviceLost)
	<-ended
	require.ErrorIs(t, lost.Wait(context.Background()), ErrDeviceLost)
	close(lost.end)
}
