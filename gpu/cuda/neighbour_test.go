//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// neighbour is another user of CUDA in the process, as a second library is one: it calls the driver itself, with a
// context, a stream and memory of its own. It stays on one thread, where its context is current all the time.
type neighbour struct {
	library uintptr
	context uintptr
	stream  uintptr
	memory  uintptr
	host    []uint32
	rounds  int
}

// call calls a function. What addresses among the arguments point to lies in the heap.
//
//go:uintptrescapes
func (n *neighbour) call(name string, args ...uintptr) error {
	fn, err := purego.Dlsym(n.library, name)
	if err != nil {
		return err
	}
	if r, _, _ := purego.SyscallN(fn, args...); uint32(r) != 0 {
		return fmt.Errorf("%s: CUDA error %d", name, uint32(r))
	}
	return nil
}

// get calls a function whose first argument is where its result goes.
func (n *neighbour) get(into *uintptr, name string, a, b uintptr) error {
	out := new([2]uintptr)
	err := n.call(name, uintptr(unsafe.Pointer(out)), a, b)
	*into = out[0]
	return err
}

const neighbourWords = 1 << 18

// moveIn starts with a context of its own, or with the primary one, which the driver under test uses too.
func (n *neighbour) moveIn(device uintptr, primary bool) error {
	n.host = make([]uint32, neighbourWords)
	create := func() error { return n.get(&n.context, "cuCtxCreate_v2", 0, device) }
	if primary {
		create = func() error {
			if err := n.get(&n.context, "cuDevicePrimaryCtxRetain", device, 0); err != nil {
				return err
			}
			return n.call("cuCtxPushCurrent_v2", n.context)
		}
	}
	if err := create(); err != nil {
		return err
	}
	if err := n.get(&n.stream, "cuStreamCreate", streamNonBlocking, 0); err != nil {
		return err
	}
	return n.get(&n.memory, "cuMemAlloc_v2", 4*neighbourWords, 0)
}

// live writes to its memory, and reads what it wrote in the round before.
func (n *neighbour) live() error {
	const bytes = 4 * neighbourWords
	var current uintptr
	if err := n.get(&current, "cuCtxGetCurrent", 0, 0); err != nil || current != n.context {
		return fmt.Errorf("the current context is %#x, not %#x: %v", current, n.context, err)
	}
	at := uintptr(unsafe.Pointer(&n.host[0]))
	if n.rounds > 0 {
		clear(n.host)
		if err := n.call("cuMemcpyDtoHAsync_v2", at, n.memory, bytes, n.stream); err != nil {
			return err
		}
		if err := n.call("cuStreamSynchronize", n.stream); err != nil {
			return err
		}
		for i, v := range n.host {
			if v != uint32(i*n.rounds) {
				return fmt.Errorf("round %d: word %d is %d, not %d", n.rounds, i, v, i*n.rounds)
			}
		}
	}
	n.rounds++
	for i := range n.host {
		n.host[i] = uint32(i * n.rounds)
	}
	if err := n.call("cuMemcpyHtoDAsync_v2", n.memory, at, bytes, n.stream); err != nil {
		return err
	}
	return n.call("cuStreamSynchronize", n.stream)
}

func (n *neighbour) moveOut(device uintptr, primary bool) error {
	if err := n.call("cuMemFree_v2", n.memory); err != nil {
		return err
	}
	if err := n.call("cuStreamDestroy_v2", n.stream); err != nil {
		return err
	}
	if !primary {
		return n.call("cuCtxDestroy_v2", n.context)
	}
	var popped uintptr
	if err := n.get(&popped, "cuCtxPopCurrent_v2", 0, 0); err != nil || popped != n.context {
		return fmt.Errorf("popped %#x: %v", popped, err)
	}
	return n.call("cuDevicePrimaryCtxRelease_v2", device)
}

func TestNeighboursInSoftware(t *testing.T) {
	w := startSoftware(t)
	checkNeighbours(t, w.library, func() gpu.Device { return w.device(t) })
}

func TestNeighbours(t *testing.T) {
	d := open(t)
	if d == nil {
		return
	}
	require.NoError(t, d.Close())
	library, err := loadFirst(driverPaths)
	require.NoError(t, err)
	checkNeighbours(t, library, func() gpu.Device { return open(t) })
}

// checkNeighbours has two other users of CUDA live in the process while devices are opened, used by many goroutines,
// also on the neighbours' threads, and closed.
func checkNeighbours(t *testing.T, library uintptr, open func() gpu.Device) {
	var d atomic.Pointer[gpu.Device]
	use := func() {
		if dev := d.Load(); dev != nil {
			if err := work(*dev); err != nil && !errors.Is(err, gpu.ErrClosed) {
				t.Error(err)
			}
		}
	}
	in, out := make(chan bool), make(chan bool)
	stop := make(chan struct{})
	var neighbours sync.WaitGroup
	for _, primary := range []bool{false, true} {
		neighbours.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread goes with its context
			n := &neighbour{library: library}
			err := n.moveIn(0, primary)
			in <- err == nil
			for err == nil {
				if err = n.live(); err != nil {
					break
				}
				select {
				case <-stop:
					if err = n.live(); err == nil {
						err = n.moveOut(0, primary)
					}
					if err == nil {
						out <- true
						return
					}
				default:
					if n.rounds%4 == 0 {
						use()
					}
				}
			}
			t.Errorf("primary %t: %v", primary, err)
			out <- false
		})
	}
	for range 2 {
		require.True(t, <-in)
	}
	for range 3 {
		dev := open()
		d.Store(&dev)
		var users sync.WaitGroup
		for range 4 {
			users.Go(func() {
				for range 5 {
					use()
				}
			})
		}
		users.Wait()
		d.Store(nil)
		require.NoError(t, dev.Close())
	}
	close(stop)
	for range 2 {
		require.True(t, <-out)
	}
	neighbours.Wait()
}
