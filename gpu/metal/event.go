//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// MTLCommandBufferStatus.
const (
	statusCompleted = 4
	statusError     = 5
)

// MTLCommandBufferError.
const (
	errorAccessRevoked = 4
	errorOutOfMemory   = 8
	errorDeviceRemoved = 11
)

// lostAfter is how many commits in a row may fail before the device counts as lost: a kernel that is broken fails among
// others that work.
const lostAfter = 16

// event is one commit: the gpu.Event of its caller and the gpu.Work of the device's completions.
type event struct {
	gpu.Completion
	dev   *device
	rec   *recording
	slot  *slot
	value uint64

	judging sync.Once // a failure counts once, however many see it
	failure error
	gpuTime atomic.Int64 // once it was asked for
}

// Signaled reads the slot's event, which failed work never signals.
func (e *event) Signaled() bool {
	if e.slot.signaled() < e.value {
		return false
	}
	e.dev.succeeded()
	return true
}

// Ended looks at the command buffer's status, which sees failures too and follows the event.
func (e *event) Ended() (bool, error) {
	if e.Signaled() {
		return true, nil
	}
	return e.outcome(false)
}

// Join blocks until the command buffer has ended.
func (e *event) Join() error {
	_, err := e.outcome(true)
	return err
}

// outcome reads how the command buffer ended, if it has.
func (e *event) outcome(wait bool) (bool, error) {
	s := e.dev.rt.begin()
	defer s.end()
	command := e.slot.commandOf(s, e)
	if command == 0 {
		return true, nil // the slot serves another: this end was delivered long ago
	}
	defer s.release(command)
	if wait {
		s.send(command, selWaitUntilCompleted)
	}
	switch s.send(command, selStatus) {
	case statusCompleted:
		e.dev.succeeded()
		return true, nil
	case statusError:
		e.judging.Do(func() { e.failure = e.dev.judge(s, id(s.send(command, selError))) })
		return true, e.failure
	}
	return false, nil
}

// succeeded ends a row of failures.
func (d *device) succeeded() {
	if d.fails.Load() != 0 {
		d.fails.Store(0)
	}
}

// judge turns a command buffer's NSError into ours, and decides whether the device is lost.
func (d *device) judge(s *session, nserr id) error {
	if nserr == 0 {
		return &gpu.CommandError{Log: "Metal gives no reason"}
	}
	failure := &gpu.CommandError{Log: s.text(id(s.send(nserr, selLocalizedDescription)))}
	code := s.send(nserr, selCode)
	switch {
	case code == errorOutOfMemory:
		return fmt.Errorf("%w: %w", gpu.ErrOutOfMemory, failure)
	case code == errorAccessRevoked || code == errorDeviceRemoved:
		return d.Lose(failure.Log)
	case d.fails.Add(1) >= lostAfter:
		return d.Lose(fmt.Sprintf("%d commits in a row failed, the last with: %s", lostAfter, failure.Log))
	}
	return failure
}

// Finish releases what the commit kept alive.
func (e *event) Finish() {
	e.rec.GiveBack()
	e.rec = nil
	e.dev.slots.put(e.slot)
}

// GPUTime is what the command buffer took on the device. It can be asked for until 32 later commits have run; after
// that it is 0 unless it was asked for before.
func (e *event) GPUTime() time.Duration {
	if t := e.gpuTime.Load(); t != 0 {
		return time.Duration(t)
	}
	start, end := e.Timestamps()
	e.gpuTime.Store(int64(end - start))
	return end - start
}

// Timestamps implements [gpu.Timestamps]; like GPUTime it can be asked for until 32 later commits have run.
func (e *event) Timestamps() (start, end time.Duration) {
	if e.slot == nil {
		return 0, 0
	}
	s := e.dev.rt.begin()
	defer s.end()
	command := e.slot.commandOf(s, e)
	if command == 0 {
		return 0, 0
	}
	defer s.release(command)
	s.send(command, selWaitUntilCompleted) // the times follow the event
	start = time.Duration(s.rt.double(uintptr(command), s.rt.sel[selGPUStart]) * 1e9)
	end = time.Duration(s.rt.double(uintptr(command), s.rt.sel[selGPUEnd]) * 1e9)
	return start, max(end, start)
}
