package latency

import (
	"runtime"
	"sync"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// dispatch records one empty kernel.
func (l *lab) dispatch(c gpu.Commands) { c.Dispatch(l.empty, 1, 32, []gpu.Arg{{Buf: l.buf}}) }

// commit commits n dispatches, one behind the other.
func (l *lab) commit(n int) gpu.Event {
	c := l.dev.Commands()
	for i := range n {
		if i > 0 {
			c.Barrier()
		}
		l.dispatch(c)
	}
	e, err := c.Commit()
	l.check(err)
	return e
}

func (l *lab) wait(e gpu.Event) {
	if e != nil {
		l.check(e.Wait(l.ctx))
	}
}

func (l *lab) roundTrip() { l.wait(l.commit(1)) }

// stages takes a call of an empty kernel apart.
func (l *lab) stages() {
	t := l.table("Stages of an empty kernel", "", "stage", "min", "median")
	names := []string{"begin a recording", "record the dispatch", "commit", "wait", "total"}
	parts := make([][]time.Duration, len(names))
	for i := range l.calls + l.calls/10 {
		at := [5]time.Time{time.Now()}
		c := l.dev.Commands()
		at[1] = time.Now()
		l.dispatch(c)
		at[2] = time.Now()
		e, err := c.Commit()
		l.check(err)
		at[3] = time.Now()
		l.wait(e)
		at[4] = time.Now()
		if l.err != nil {
			return
		}
		if i < l.calls/10 {
			continue
		}
		for k := range 4 {
			parts[k] = append(parts[k], at[k+1].Sub(at[k]))
		}
		parts[4] = append(parts[4], at[4].Sub(at[0]))
	}
	for i, name := range names {
		shortest, median := stats(parts[i])
		t.add(name, shortest, median)
	}
	if e := l.commit(1); l.err == nil {
		l.wait(e)
		if busy := e.GPUTime(); busy > 0 {
			t.add("of which the device was busy, once", micros(busy), missing)
		}
	}
}

// strategies waits for an empty kernel in every way.
func (l *lab) strategies() {
	t := l.table("Wait strategies", "An empty kernel from its recording to the end of its wait, and the process's CPU time per call.", "strategy", "min", "median", "CPU us")
	for s := gpu.WaitSpinThenBlock; s.String() != "unknown"; s++ {
		gpu.SetWaitStrategy(s)
		used := cpuTime()
		shortest, median := l.times(l.calls, l.roundTrip)
		t.add(s.String(), shortest, median, micros(cpuTime()-used)/Number(l.calls+l.calls/10+1))
	}
	gpu.SetWaitStrategy(gpu.WaitSpinThenBlock)
}

// raw times the driver's own calls, the median; missing where the device cannot tell.
func (l *lab) raw(n int, asGraph bool) (shortest, median Number) {
	timer, ok := l.dev.(gpu.RawTimer)
	if !ok {
		return missing, missing
	}
	times, err := timer.TimeRaw(n, l.calls+l.calls/10+1, asGraph)
	if l.check(err); err != nil {
		return missing, missing
	}
	return stats(times[l.calls/10+1:])
}

// floors are what the driver takes for what the engine is compared with.
func (l *lab) floors() {
	if _, ok := l.dev.(gpu.RawTimer); !ok {
		l.table("Raw driver", "This device has no timer of its driver's own calls.", "what")
		return
	}
	t := l.table("Raw driver", "The driver's own calls for empty kernels, nothing of the library around them.", "what", "min", "median")
	for _, row := range []struct {
		name    string
		n       int
		asGraph bool
	}{{"one launch", 1, false}, {"ten launches", 10, false}, {"graph of ten", 10, true}} {
		shortest, median := l.raw(row.n, row.asGraph)
		t.add(row.name, shortest, median)
	}
}

// amortisation shares the wait, or the submission too.
func (l *lab) amortisation() {
	t := l.table("Amortisation", "Microseconds per operation, median. A commit of several dispatches that comes again is a graph where the driver has them. The last two columns are the driver's own calls.",
		"operations", "N commits, one wait", "N dispatches in one commit", "raw graph", "raw launches")
	for _, n := range []int{1, 2, 5, 10, 20} {
		events := make([]gpu.Event, n)
		_, apart := l.times(l.calls, func() {
			for i := range events {
				events[i] = l.commit(1)
			}
			for _, e := range events {
				l.wait(e)
			}
		})
		_, together := l.times(l.calls, func() { l.wait(l.commit(n)) })
		_, graph := l.raw(n, true)
		_, launches := l.raw(n, false)
		t.add(Number(n).count(), apart/Number(n), together/Number(n), graph/Number(n), launches/Number(n))
	}
}

// floor tries what might make a round trip shorter without changing the library.
func (l *lab) floor() {
	t := l.table("Can the floor move?", "An empty kernel.", "circumstances", "min", "median")
	shortest, median := l.times(l.calls, l.roundTrip)
	t.add("idle device", shortest, median)
	raised := make(chan bool)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and its priority with it
		ok := raisePriority()
		if ok {
			shortest, median = l.times(l.calls, l.roundTrip)
		}
		raised <- ok
	}()
	if <-raised {
		t.add("thread of raised priority", shortest, median)
	} else {
		t.Rows = append(t.Rows, Row{Label: "thread of raised priority", Text: "not allowed here"})
	}
	stop := make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				l.wait(l.commit(10))
			}
		}
	})
	shortest, median = l.times(l.calls, l.roundTrip)
	close(stop)
	busy.Wait()
	t.add("another queue kept busy", shortest, median)
}
