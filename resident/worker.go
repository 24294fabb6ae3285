package resident

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

//go:embed worker.metal
var workerText string

// device is what a worker needs.
type device interface {
	gpu.Device
	gpu.Resident
}

// WorkerOptions shape a worker; zeros mean the defaults.
type WorkerOptions struct {
	Lanes   int // kernels, each serving one caller at a time: 2
	Members int // threadgroups of a lane, at most 32: 32
	Solo    int // rows up to which one threadgroup works alone: 4,096

	Idle     time.Duration // without a task, after which a kernel is stopped: 2 ms
	Lifetime time.Duration // of a kernel, after which it is stopped and launched anew by the next task: 50 ms

	tagged int // rows up to which the bits of a comparison come as words that tell by themselves that they are there
}

const (
	defaultLanes   = 2
	defaultMembers = 32
	defaultSolo    = 4096
	maxMembers     = 32
	// MaxRows is the largest task that a worker takes.
	MaxRows = 1 << 20
)

// Worker does small operations by kernels that stay on a device, a lane each. A lane's kernel is launched by the first
// task, ends when there was none for some time, and is launched anew by the next; it never runs longer than a bounded time,
// so other work on the device is not kept waiting for good. A worker is safe for concurrent use.
type Worker struct {
	dev    device
	pipe   gpu.Pipeline
	opts   WorkerOptions
	lanes  []*lane
	turn   atomic.Uint32
	closed atomic.Bool
	mu     sync.Mutex // Close
}

// NewWorker makes a worker for a device whose running kernels see the CPU's stores and the other way round, which it does
// not check (Available does). Errors: gpu.ErrUnsupported where no kernel can stay, and those of compiling and allocating.
func NewWorker(d gpu.Device, opts WorkerOptions) (*Worker, error) {
	dev, ok := d.(device)
	if !ok {
		return nil, fmt.Errorf("resident: %w: no kernel can stay on a %s device", gpu.ErrUnsupported, d.Info().Driver)
	}
	for _, o := range []struct {
		name      string
		value     *int
		def, most int
	}{{"lanes", &opts.Lanes, defaultLanes, 64}, {"members", &opts.Members, defaultMembers, maxMembers}, {"solo rows", &opts.Solo, defaultSolo, MaxRows}} {
		if *o.value == 0 {
			*o.value = o.def
		}
		if *o.value < 1 || *o.value > o.most {
			return nil, fmt.Errorf("resident: %d %s, not 1 to %d", *o.value, o.name, o.most)
		}
	}
	if opts.Idle == 0 {
		opts.Idle = idleStop
	}
	if opts.Lifetime == 0 {
		opts.Lifetime = lifetime
	}
	if opts.Idle < 0 || opts.Lifetime < 0 || opts.Lifetime > maxLifetime {
		return nil, fmt.Errorf("resident: a kernel that is stopped after %v and lives for %v (at most %v)", opts.Idle, opts.Lifetime, maxLifetime)
	}
	if opts.tagged == 0 {
		opts.tagged = opts.Solo
	}
	pipe, err := d.Compile(gpu.Source{Name: "resident_worker", Text: workerText})
	if err != nil {
		return nil, fmt.Errorf("resident: %w", err)
	}
	w := &Worker{dev: dev, pipe: pipe, opts: opts}
	for range opts.Lanes {
		l, err := newLane(w)
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("resident: %w", err)
		}
		w.lanes = append(w.lanes, l)
	}
	return w, nil
}

// Close stops the kernels and gives back what the worker used. Tasks under way end first; later ones are gpu.ErrClosed.
func (w *Worker) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Swap(true) {
		return
	}
	for _, l := range w.lanes {
		l.close()
	}
	w.pipe.Release()
}

// Takes says whether the worker has a kernel for an operation on elements of a type.
func (w *Worker) Takes(op gpu.WorkerOp, t msl.Type) bool {
	_, known := elementTypes[t]
	switch {
	case op == gpu.WorkerCount:
		return true
	case op == gpu.WorkerSum:
		return known && t != msl.F32 && t != msl.F64
	case op >= gpu.WorkerMinMax && op <= gpu.WorkerFilter:
		return known
	}
	return false
}

// Do runs tasks one after the other. A task must not write what it or an earlier one of the same call reads: after the
// driver has stopped the kernel, tasks that had not all ended run again.
func (w *Worker) Do(ctx context.Context, tasks []gpu.Task) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range tasks {
		if err := w.check(&tasks[i]); err != nil {
			return err
		}
	}
	l := w.lane()
	defer l.mu.Unlock()
	if w.closed.Load() {
		return fmt.Errorf("resident: %w: the worker was stopped", gpu.ErrClosed)
	}
	for len(tasks) > 0 {
		n := 1
		for n < min(len(tasks), batchTasks) && w.follows(&tasks[n], &tasks[n-1]) {
			n++
		}
		if err := l.do(ctx, tasks[:n]); err != nil {
			return err
		}
		tasks = tasks[n:]
	}
	return nil
}

// check refuses what the kernel does not take.
func (w *Worker) check(t *gpu.Task) error {
	isCompare := t.Op >= gpu.WorkerEqual && t.Op <= gpu.WorkerGreaterEqual
	switch {
	case !w.Takes(t.Op, t.Type):
		return fmt.Errorf("resident: %w: operation %d on %v", gpu.ErrUnsupported, t.Op, t.Type)
	case t.N < 1 || t.N > MaxRows:
		return fmt.Errorf("resident: %w: %d rows, not 1 to %d", gpu.ErrUnsupported, t.N, MaxRows)
	case t.Op == gpu.WorkerCount && t.A.Valid == nil, t.Op != gpu.WorkerCount && t.A.Buf == nil:
		return fmt.Errorf("resident: %w: an argument is missing", gpu.ErrUnsupported)
	case t.Op > gpu.WorkerCount && (t.A.Valid != nil || t.B.Valid != nil):
		return fmt.Errorf("resident: %w: nulls", gpu.ErrUnsupported)
	case t.Op == gpu.WorkerFilter && t.B.Buf == nil:
		return fmt.Errorf("resident: %w: a filter without a mask", gpu.ErrUnsupported)
	case isCompare && t.Out.Buf == nil && len(t.Bits) < (t.N+31)/32:
		return fmt.Errorf("resident: %w: %d words for the bits of %d rows", gpu.ErrUnsupported, len(t.Bits), t.N)
	case t.Op > gpu.WorkerGreaterEqual && t.Out.Buf == nil:
		return fmt.Errorf("resident: %w: no place for the result", gpu.ErrUnsupported)
	case t.Bits != nil && (!isCompare || t.Out.Buf != nil):
		return fmt.Errorf("resident: %w: bits are of comparisons without another place", gpu.ErrUnsupported)
	}
	return nil
}

// lane locks a lane that is free, else waits for one.
func (w *Worker) lane() *lane {
	for _, l := range w.lanes {
		if l.mu.TryLock() {
			return l
		}
	}
	l := w.lanes[int(w.turn.Add(1))%len(w.lanes)]
	l.mu.Lock()
	return l
}

// Threadgroups is how many a lane's kernel holds while it runs, each on a multiprocessor of its own where there are
// enough.
func (w *Worker) Threadgroups() int { return w.opts.Members }
