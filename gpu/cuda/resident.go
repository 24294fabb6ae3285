//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// mayWait are the driver's functions that may wait for everything on a device, or that other functions of the driver wait
// for: with a kernel that stays they would last as long as it. They are called when it has been stopped.
var mayWait = [functionCount]bool{
	cuModuleLoadData: true, cuModuleUnload: true, cuModuleGetFunction: true,
	cuMemAlloc: true, cuMemFree: true,
	cuMemHostAlloc: true, cuMemFreeHost: true, cuMemHostRegister: true, cuMemHostUnregister: true,
	cuDevicePrimaryCtxRelease: true,
	cuGraphInstantiate:        true, cuGraphUpload: true, cuGraphExecDestroy: true,
}

// keptKernels are the kernels of all devices that run until they are told to stop.
type keptKernels struct {
	count atomic.Int32
	mu    sync.Mutex // held by a launch, and by calls of mayWait while there are some
	list  []*kept
	idle  map[*device][]uintptr // streams for the next ones
}

// close stops the kernels of a device that is closed and frees its streams; later ones are freed when they are released.
func (k *keptKernels) close(d *device, s *session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range k.list {
		if x.dev == d {
			x.halt()
		}
	}
	for _, stream := range k.idle[d] {
		s.call(cuStreamDestroy, stream)
	}
	delete(k.idle, d)
}

// stopAll stops the kernels and keeps new ones from starting until the lock is released.
func (k *keptKernels) stopAll() {
	k.mu.Lock()
	for _, x := range k.list {
		x.halt()
	}
}

// kept is a kernel that stays, on a stream of its own.
type kept struct {
	dev    *device
	rec    *recording
	stream uintptr
	stop   func()
	over   atomic.Bool
	err    error // valid once over
}

// Launch starts a kernel that stays.
func (d *device) Launch(p gpu.Pipeline, groups, threads int, args []gpu.Arg, stop func()) (gpu.Kept, error) {
	if err := d.Enter(); err != nil {
		return nil, err
	}
	defer d.Leave()
	c := recordings.Begin(d)
	c.Dispatch(p, groups, threads, args)
	r, err := c.Take()
	if err != nil {
		return nil, err
	}
	if err := r.Err(); err != nil {
		r.GiveBack()
		return nil, err
	}
	k := &kept{dev: d, rec: r, stop: stop}
	if err := k.start(); err != nil {
		r.GiveBack()
		return nil, fmt.Errorf("cuda: %w", err)
	}
	return k, nil
}

var errNeedsMemory = errors.New("a kernel that stays takes small values by constant reference only")

func (k *kept) start() error {
	d := k.dev
	s, err := d.ctx.begin()
	if err != nil {
		return d.Lose(err.Error())
	}
	defer s.end()
	all := &d.drv.kept
	all.mu.Lock()
	defer all.mu.Unlock()
	if idle := all.idle[d]; len(idle) > 0 {
		k.stream, all.idle[d] = idle[len(idle)-1], idle[:len(idle)-1]
	} else if st := s.call(cuStreamCreate, s.result(0), streamNonBlocking); st != success {
		return d.judge(st)
	} else {
		k.stream = s.out[0]
	}
	q := queue{session: s, dev: d, stream: k.stream, rec: k.rec, noStaging: true}
	defer q.forget()
	if err := q.all(); err != nil {
		s.call(cuStreamDestroy, k.stream)
		return err
	}
	all.list = append(all.list, k)
	all.count.Add(1)
	return nil
}

// Ended asks the stream.
func (k *kept) Ended() (bool, error) {
	if k.over.Load() {
		return true, k.err
	}
	all := &k.dev.drv.kept
	all.mu.Lock()
	defer all.mu.Unlock()
	return k.look(), k.err
}

// look says whether the kernel has ended; the caller holds the lock. It takes a session of its own, since the caller's
// may have another device's context or none.
func (k *kept) look() bool {
	if k.over.Load() {
		return true
	}
	s, err := k.dev.ctx.begin()
	if err != nil {
		k.err = k.dev.Lose(err.Error())
		k.over.Store(true)
		return true
	}
	defer s.end()
	st := s.call(cuStreamQuery, k.stream)
	if st == errorNotReady {
		return false
	}
	if st != success {
		k.err = k.dev.Lose(k.dev.drv.describe(st).Error())
	}
	k.over.Store(true)
	return true
}

// halt stops the kernel and waits for its end, which the kernel bounds; the caller holds the lock.
func (k *kept) halt() {
	if k.look() {
		return
	}
	k.stop()
	for nap := time.Microsecond; !k.look(); nap = min(2*nap, shortestNap) {
		time.Sleep(nap)
	}
}

// Release waits for the kernel's end and frees its stream.
func (k *kept) Release() {
	all := &k.dev.drv.kept
	all.mu.Lock()
	k.halt()
	if i := slices.Index(all.list, k); i >= 0 {
		all.list = slices.Delete(all.list, i, i+1)
		all.count.Add(-1)
	}
	k.dev.joining.RLock()
	reuse := k.err == nil && !k.dev.freed
	k.dev.joining.RUnlock()
	if reuse {
		if all.idle == nil {
			all.idle = map[*device][]uintptr{}
		}
		all.idle[k.dev] = append(all.idle[k.dev], k.stream)
	} else if s, err := k.dev.ctx.begin(); err == nil {
		s.call(cuStreamDestroy, k.stream)
		s.end()
	}
	all.mu.Unlock()
	k.rec.GiveBack()
}

// Address is where kernels find a buffer.
func (d *device) Address(b gpu.Buffer) (uint64, bool) {
	own, ok := b.(*buffer)
	if !ok || own.dev != d || own.Released() {
		return 0, false
	}
	return uint64(own.at), true
}
