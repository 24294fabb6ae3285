package gpu

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/msl"
)

// Resident is the ability to keep a kernel running beside other work. Devices that have it implement it.
type Resident interface {
	// Launch starts a kernel on a queue of its own, where no commit goes, and returns at once. The kernel counts neither
	// as work in flight nor towards CommandTimeout. It must end by itself after a bounded time, and soon after stop, which
	// the driver calls before it does anything that would wait for the whole device; no launch starts meanwhile. stop must
	// not use the device.
	Launch(p Pipeline, groups, threads int, args []Arg, stop func()) (Kept, error)
	// Address is where kernels find a buffer of the device, false for a buffer of another device or one that was released.
	Address(b Buffer) (uint64, bool)
}

// Kept is a kernel that was launched to stay.
type Kept interface {
	// Ended says, without blocking, whether the kernel has ended, and with which error.
	Ended() (bool, error)
	// Release gives back what the kernel used; it waits for its end.
	Release()
}

// Worker does small operations by a kernel that stays on its device: submitting is a store and the result a load. Package
// resident makes it and registers it with SetWorker; package compute finds it with WorkerOf.
type Worker interface {
	// Takes says whether the worker has a kernel for the operation on elements of this type.
	Takes(op WorkerOp, t msl.Type) bool
	// Do runs tasks one after the other and fills in their results. Later tasks may read what earlier ones write. It returns
	// ctx's error when that ends first, after the device has let go of the memory all the same. Errors wrap ErrUnsupported
	// for what it does not take, ErrClosed once resident mode is off, ErrDeviceLost and ErrTimeout.
	Do(ctx context.Context, tasks []Task) error
}

// WorkerOp is what a task does.
type WorkerOp uint8

// The operations. Integers wrap; the checked ones set Failed on overflow. Comparisons of floats follow IEEE-754; minima
// and maxima skip NaN and put -0 before 0.
const (
	WorkerSum WorkerOp = iota + 1 // of integers; valid rows only, as for the next two
	WorkerMinMax
	WorkerCount
	WorkerEqual
	WorkerNotEqual
	WorkerLess
	WorkerLessEqual
	WorkerGreater
	WorkerGreaterEqual
	WorkerAdd
	WorkerSubtract
	WorkerMultiply
	WorkerAddChecked
	WorkerSubtractChecked
	WorkerMultiplyChecked
	WorkerFilter // keeps the rows of A whose bit in B is set
)

// View is elements of a buffer, as an argument of a task.
type View struct {
	Buf      Buffer // nil: there is none
	Off      int    // bytes before the first element, a multiple of its width; of bits, a multiple of 4
	Valid    Buffer // validity bitmap, nil where every row is valid; reductions take one
	ValidOff int    // bits before the first row's
}

// Task is one operation of a Worker.
type Task struct {
	Op   WorkerOp
	Type msl.Type // of A's elements
	N    int      // rows
	A, B View
	// Literal is B's value where B has no buffer, in the low bits.
	Literal uint64
	// Out is where elements or bits go. A comparison without one leaves its bits in Bits.
	Out View
	// Bits receives the bits of a comparison, at least (N+31)/32 words.
	Bits []uint32

	Result TaskResult
}

// TaskResult is what the host learns of a task.
type TaskResult struct {
	Value  uint64 // a sum; the smallest value's bits
	Max    uint64 // the largest value's bits
	Rows   int    // valid rows reduced; rows a filter kept
	NaNs   int    // of the valid rows reduced to a minimum
	Failed bool   // a checked operation overflowed
}

// workers are the registered workers, by device. The map is replaced, never changed.
var (
	workersMu sync.Mutex
	workers   atomic.Pointer[map[Device]Worker]
)

// SetWorker registers a device's worker; nil removes it. Package resident calls it.
func SetWorker(d Device, w Worker) {
	workersMu.Lock()
	defer workersMu.Unlock()
	next := map[Device]Worker{}
	if now := workers.Load(); now != nil {
		for k, v := range *now {
			next[k] = v
		}
	}
	if w == nil {
		delete(next, d)
	} else {
		next[d] = w
	}
	if len(next) == 0 {
		workers.Store(nil)
		return
	}
	workers.Store(&next)
}

// HaveWorkers says whether any device has a registered worker.
func HaveWorkers() bool { return workers.Load() != nil }

// WorkerOf is the device's registered worker, nil while it has none; then it costs one load.
func WorkerOf(d Device) Worker {
	if now := workers.Load(); now != nil {
		return (*now)[d]
	}
	return nil
}
