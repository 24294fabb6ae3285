package gpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeWork ends when its channel is closed, with err.
type fakeWork struct {
	Completion
	end      chan struct{}
	err      error
	finished atomic.Int32
	joins    *atomic.Int32
}

func (w *fakeWork) closed() bool {
	select {
	case <-w.end:
		return true
	default:
		return false
	}
}
func (w *fakeWork) Signaled() bool       { return w.err == nil && w.closed() }
func (w *fakeWork) Ended() (bool, error) { return w.closed(), w.err }
func (w *fakeWork) Join() error          { w.joins.Add(1); <-w.end; return w.err }
func (w *fakeWork) Finish()              { w.finished.Add(1) }

type fakeDevice struct {
	*Completions
	joins atomic.Int32
}

func newFake(t *testing.T) *fakeDevice {
	d := &fakeDevice{Completions: NewCompletions()}
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func (d *fakeDevice) start(err error) *fakeWork {
	w := &fakeWork{end: make(chan struct{}), err: err, joins: &d.joins}
	d.Start(&w.Completion, w)
	return w
}

// settings restores the package's settings at the end of a test.
func settings(t *testing.T) {
	on, spin, timeout := LowLatencyWait(), SpinMicroseconds(), CommandTimeout()
	t.Cleanup(func() {
		SetLowLatencyWait(on)
		SetSpinMicroseconds(spin)
		SetCommandTimeout(timeout)
	})
}

func TestWaitWays(t *testing.T) {
	broken := errors.New("broken")
	for _, way := range []struct {
		name    string
		low     bool
		spin    int
		procs   int
		after   time.Duration
		err     error
		blocked bool // the driver's blocking wait must have been used
	}{
		{"spin", true, 1_000_000, 2, 200 * time.Microsecond, nil, false},
		{"spin then block", true, 50, 2, 10 * time.Millisecond, nil, true},
		{"block", false, 300, 2, 5 * time.Millisecond, nil, true},
		{"failure never signals", true, 100, 2, time.Millisecond, broken, true},
		{"one processor", true, 300, 1, 3 * time.Millisecond, nil, false},
		{"one processor, failure", true, 300, 1, 3 * time.Millisecond, broken, false},
	} {
		t.Run(way.name, func(t *testing.T) {
			settings(t)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(way.procs))
			SetLowLatencyWait(way.low)
			SetSpinMicroseconds(way.spin)
			d := newFake(t)
			w := d.start(way.err)
			time.AfterFunc(way.after, func() { close(w.end) })
			require.False(t, w.Done())
			require.Equal(t, way.err, w.Wait(context.Background()))
			require.True(t, w.Done())
			require.Equal(t, way.err, w.Wait(context.Background()))
			require.EqualValues(t, 1, w.finished.Load())
			require.Equal(t, way.blocked, d.joins.Load() > 0)
		})
	}
}

// joinCreator is who begins the goroutine that blocks in the driver.
const joinCreator = "github.com/broadhead-go/broadhead/gpu.(*Completions).park"

func TestOneGoroutineServesManyWaiters(t *testing.T) {
	settings(t)
	SetSpinMicroseconds(100)
	d := newFake(t)
	var works []*fakeWork
	var all sync.WaitGroup
	for range 50 {
		w := d.start(nil)
		works = append(works, w)
		for range 2 {
			all.Go(func() {
				if err := w.Wait(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	time.Sleep(5 * time.Millisecond)
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	require.LessOrEqual(t, strings.Count(string(stacks), "created by "+joinCreator), 1)
	for i := range works {
		close(works[len(works)-1-i].end) // not in the order of their commits
	}
	all.Wait()
	for _, w := range works {
		require.EqualValues(t, 1, w.finished.Load())
	}
}

// TestWaitStress has waiters come, go and hand their roles over at random times. A lost wake-up would hang it.
func TestWaitStress(t *testing.T) {
	settings(t)
	SetSpinMicroseconds(30)
	d := newFake(t)
	broken := errors.New("broken")
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for range 150 {
				var err error
				if r.IntN(4) == 0 {
					err = broken
				}
				w := d.start(err)
				time.AfterFunc(time.Duration(r.IntN(200))*time.Microsecond, func() { close(w.end) })
				if r.IntN(3) == 0 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(100))*time.Microsecond)
					if got := w.Wait(ctx); got != nil && !errors.Is(got, context.DeadlineExceeded) && got != err {
						t.Error(got)
					}
					cancel()
				}
				if got := w.Wait(context.Background()); got != err {
					t.Errorf("got %v, want %v", got, err)
				}
				if w.finished.Load() != 1 {
					t.Error("finished ", w.finished.Load(), " times")
				}
			}
		})
	}
	all.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	require.Empty(t, d.flying)
	require.Zero(t, d.parked)
	require.False(t, d.spinning)
}

func TestContextEndsTheWaitingOnly(t *testing.T) {
	settings(t)
	for _, spin := range []int{0, 1_000_000} {
		SetSpinMicroseconds(spin)
		d := newFake(t)
		w := d.start(nil)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		require.ErrorIs(t, w.Wait(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, w.Wait(ctx), context.DeadlineExceeded)
		cancel()
		require.False(t, w.Done())
		require.Zero(t, w.finished.Load())
		close(w.end)
		require.NoError(t, w.Wait(context.Background()))
		require.NoError(t, w.Wait(ctx), "an end that is known is reported, whatever the context")
	}
}

func TestWorkNobodyWaitsForIsGivenBack(t *testing.T) {
	d := newFake(t)
	w := d.start(errors.New("unseen"))
	close(w.end)
	require.Eventually(t, func() bool { return w.finished.Load() == 1 }, 5*time.Second, time.Millisecond)
}

func TestProgressDelivers(t *testing.T) {
	settings(t)
	SetLowLatencyWait(false)
	d := newFake(t)
	w := d.start(nil)
	Progress()
	require.False(t, w.told.Load())
	close(w.end)
	Progress()
	require.True(t, w.told.Load())
	require.Zero(t, testing.AllocsPerRun(100, func() { Progress() }))
}

func TestFailTellsButKeeps(t *testing.T) {
	d := newFake(t)
	w := d.start(nil)
	got := make(chan error)
	go func() { got <- w.Wait(context.Background()) }()
	time.Sleep(time.Millisecond)
	d.Fail(ErrDeviceLost)
	require.ErrorIs(t, <-got, ErrDeviceLost)
	require.True(t, w.Done())
	require.Zero(t, w.finished.Load(), "the device may still write")
	close(w.end)
	require.Eventually(t, func() bool { return w.finished.Load() == 1 }, 5*time.Second, time.Millisecond)
}

func TestTimeout(t *testing.T) {
	settings(t)
	SetSpinMicroseconds(10)
	SetCommandTimeout(5 * time.Millisecond)
	d := newFake(t)
	lost := make(chan error, 10)
	d.OnOverdue(func(err error) { lost <- err })
	put := make(chan int, 10)
	d.Afterwards(func() { put <- 0 })
	require.Equal(t, 0, <-put, "nothing is late: at once")
	w, next := d.start(nil), d.start(nil)
	require.ErrorIs(t, w.Wait(context.Background()), ErrTimeout)
	require.ErrorIs(t, <-lost, ErrTimeout)
	require.ErrorIs(t, next.Wait(context.Background()), ErrTimeout)
	late := d.start(nil)
	require.True(t, late.Done())
	require.ErrorIs(t, late.Wait(context.Background()), ErrTimeout, "started too late to be told by Fail")
	d.Afterwards(func() { put <- 1 })
	d.Afterwards(func() { put <- 2 })
	require.ErrorIs(t, d.Close(), ErrTimeout)
	require.Zero(t, w.finished.Load()+next.finished.Load(), "the device may still write")
	require.Empty(t, put)
	close(w.end)
	close(next.end)
	close(late.end)
	require.Equal(t, 1, <-put)
	require.Equal(t, 2, <-put)
	require.EqualValues(t, 3, w.finished.Load()+next.finished.Load()+late.finished.Load())
	require.ErrorIs(t, w.Wait(context.Background()), ErrTimeout, "the verdict stays")
	require.Empty(t, lost)
}

// TestTimeoutWithoutWaiters loses a device that nobody waits for.
func TestTimeoutWithoutWaiters(t *testing.T) {
	settings(t)
	SetCommandTimeout(5 * time.Millisecond)
	d := newFake(t)
	lost := make(chan error, 1)
	d.OnOverdue(func(err error) { lost <- err })
	w := d.start(nil)
	require.ErrorIs(t, <-lost, ErrTimeout)
	close(w.end)
	require.Eventually(t, func() bool { return w.finished.Load() == 1 }, 5*time.Second, time.Millisecond)
}

// TestLongQueue sees that each commit has the whole time from when it is the oldest.
func TestLongQueue(t *testing.T) {
	settings(t)
	SetCommandTimeout(time.Minute)
	d := newFake(t)
	first, second := d.start(nil), d.start(nil)
	d.mu.Lock()
	d.late.since = time.Now().Add(-50 * time.Second)
	d.mu.Unlock()
	left, limited := d.left()
	require.True(t, limited)
	require.Less(t, left, 11*time.Second)
	close(first.end)
	require.NoError(t, first.Wait(context.Background()))
	left, _ = d.left()
	require.Greater(t, left, 50*time.Second)
	require.False(t, d.isOverdue())
	close(second.end)
	require.NoError(t, second.Wait(context.Background()))
	SetCommandTimeout(0)
	_, limited = d.left()
	require.False(t, limited)
}

func TestSettingsAreClamped(t *testing.T) {
	settings(t)
	SetSpinMicroseconds(-1)
	require.Zero(t, SpinMicroseconds())
	SetSpinMicroseconds(1 << 40)
	require.Equal(t, maxSpinMicroseconds, SpinMicroseconds())
	SetCommandTimeout(-1)
	require.Zero(t, CommandTimeout())
}
