//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/broadhead-go/broadhead/gpu"
)

// event is one commit: the gpu.Event of its caller and the gpu.Work of the device's completions.
type event struct {
	gpu.Completion
	dev     *device
	rec     *recording
	slot    *slot
	stream  uintptr
	value   uint64
	timed   bool
	graph   *graph // that runs it, if one does
	gpuTime atomic.Int64
}

// Signaled reads the slot's word, which failed work never writes: an error ends all streams of the context.
func (e *event) Signaled() bool { return e.slot.word.Load() >= e.value }

// Ended asks the stream, which sees failures too.
func (e *event) Ended() (bool, error) {
	if e.Signaled() {
		return true, nil
	}
	d := e.dev
	s, err := d.ctx.begin()
	if err != nil {
		// Only with the context has the work ended for certain.
		return errors.Is(err, errContextGone), d.Lose(err.Error())
	}
	defer s.end()
	switch st := s.call(cuStreamQuery, e.stream); {
	case st == errorNotReady || e.Signaled():
		return e.Signaled(), nil
	case st == success:
		return true, d.Lose("a stream has ended without the word of its commit")
	default:
		return true, d.Lose(d.drv.describe(st).Error())
	}
}

// The pauses between looks at work whose end cannot be waited for.
const (
	shortestNap = 50 * time.Microsecond
	longestNap  = 5 * time.Millisecond
)

// Join blocks until the work has ended.
func (e *event) Join() error {
	e.dev.joining.RLock()
	defer e.dev.joining.RUnlock()
	for nap := shortestNap; !e.dev.freed; nap = min(2*nap, longestNap) {
		if ended, err := e.Ended(); ended {
			return err
		}
		e.block()
		if !e.Signaled() {
			time.Sleep(nap)
		}
	}
	return nil
}

// block waits until what is on the stream now has ended, if it can. The event it waits for is made here because few
// commits need one.
func (e *event) block() {
	s, err := e.dev.ctx.begin()
	if err != nil {
		return
	}
	defer s.end()
	if s.call(cuEventCreate, s.result(0), eventBlocking) != success {
		return
	}
	wait := s.out[0]
	if s.call(cuEventRecord, wait, e.stream) == success {
		s.call(cuEventSynchronize, wait)
	}
	s.call(cuEventDestroy, wait)
}

// Finish releases what the commit kept alive.
func (e *event) Finish() {
	if e.timed {
		e.gpuTime.Store(int64(e.elapsed()))
	}
	if e.graph != nil { // before kernels that it names may go
		e.dev.putGraph(e.graph)
		e.graph = nil
	}
	e.rec.GiveBack()
	e.rec = nil
	e.dev.slots.put(e.slot)
}

// elapsed is the time between the slot's events, 0 if the work failed.
func (e *event) elapsed() time.Duration {
	s, err := e.dev.ctx.begin()
	if err != nil {
		return 0
	}
	defer s.end()
	if s.call(cuEventElapsedTime, s.result(0), e.slot.start, e.slot.end) != success {
		return 0
	}
	ms := *(*float32)(unsafe.Pointer(&s.out[0]))
	return time.Duration(float64(ms) * 1e6)
}

// GPUTime is what the commands took on the device; 0 for small commits, which are not timed, since that would take
// longer than they do.
func (e *event) GPUTime() time.Duration { return time.Duration(e.gpuTime.Load()) }

// notified are those who sleep until a stream's host function tells them, by number.
var notified struct {
	sync.Mutex
	last    uintptr
	waiting map[uintptr]chan<- struct{}
}

// tellNotified is what the driver calls on a thread of its own, where nothing of CUDA may be called.
var tellNotified = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(number uintptr) uintptr {
		notified.Lock()
		ended := notified.waiting[number]
		delete(notified.waiting, number)
		notified.Unlock()
		select {
		case ended <- struct{}{}:
		default: // told already, or forgotten
		}
		return 0
	})
})

// Notify puts a host function on the stream, which runs when all that is on it now has succeeded.
func (e *event) Notify(ended chan<- struct{}) bool {
	call := tellNotified()
	s, err := e.dev.ctx.begin()
	if err != nil {
		return false
	}
	defer s.end()
	notified.Lock()
	if notified.waiting == nil {
		notified.waiting = map[uintptr]chan<- struct{}{}
	}
	notified.last++
	number := notified.last
	notified.waiting[number] = ended
	notified.Unlock()
	if s.call(cuLaunchHostFunc, e.stream, call, number) != success {
		notified.Lock()
		delete(notified.waiting, number)
		notified.Unlock()
		return false
	}
	return true
}
