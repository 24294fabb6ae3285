//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
)

// software is CUDA in software: the driver and the compiler of testdata/software.cpp.
type software struct {
	library uintptr
	drv     *driver
	images  *imageCache
}

var softwareFolder string

func TestMain(m *testing.M) {
	var err error
	if softwareFolder, err = os.MkdirTemp("", "broadhead-cuda"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(softwareFolder)
	os.Exit(code)
}

var buildSoftware = sync.OnceValues(func() (*software, error) {
	lib := filepath.Join(softwareFolder, "libsoftware.so")
	out, err := exec.Command("g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", "-o", lib, "testdata/software.cpp").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	w := &software{images: newImageCache(filepath.Join(softwareFolder, "images"))}
	// Kernels that it loads look for its functions among the global ones.
	if w.library, err = purego.Dlopen(lib, purego.RTLD_NOW|purego.RTLD_GLOBAL); err != nil {
		return nil, err
	}
	w.start(softwareFolder)
	w.drv, err = newDriver([]string{lib})
	return w, err
})

// start tells the library where it finds its header and builds kernels.
func (w *software) start(folder string) {
	header, err := filepath.Abs("testdata/host.h")
	if err != nil {
		panic(err)
	}
	h, f := cstring(header), cstring(folder)
	w.call("software_start", address(h), address(f))
	runtime.KeepAlive(h)
	runtime.KeepAlive(f)
}

// startSoftware returns the software with no faults planned. The test leaves nothing alive.
func startSoftware(t *testing.T) *software {
	t.Helper()
	w := sharedSoftware(t)
	kinds := []string{"context", "device memory", "host memory", "pin", "stream", "event", "module", "program", "graph", "graph exec"}
	before := make([]int, len(kinds))
	for i, kind := range kinds {
		before[i] = w.live(kind)
	}
	t.Cleanup(func() {
		w.call("software_reset")
		for i, kind := range kinds {
			require.Equal(t, before[i], w.live(kind), "%s: left behind", kind)
		}
	})
	return w
}

// sharedSoftware is startSoftware for users of package compute, which keeps what it has of a device.
func sharedSoftware(t *testing.T) *software {
	t.Helper()
	if testing.Short() {
		t.Skip("builds CUDA in software with g++, which -short leaves out")
	}
	if _, err := exec.LookPath("g++"); err != nil {
		t.Fatal("needs g++: the driver is tested against CUDA in software (use -short to leave this out)")
	}
	w, err := buildSoftware()
	require.NoError(t, err)
	w.call("software_reset")
	return w
}

func (w *software) call(name string, args ...uintptr) uintptr {
	fn, err := purego.Dlsym(w.library, name)
	if err != nil {
		panic(err)
	}
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// fail makes the nth call of a function from now on fail; "kernel" is a kernel's run.
func (w *software) fail(function string, nth int, st status) {
	name := cstring(function)
	w.call("software_fail", uintptr(unsafe.Pointer(&name[0])), uintptr(nth), uintptr(st))
	runtime.KeepAlive(name)
}

func (w *software) live(kind string) int {
	name := cstring(kind)
	n := w.call("software_live", uintptr(unsafe.Pointer(&name[0])))
	runtime.KeepAlive(name)
	return int(n)
}

func (w *software) open() ([]gpu.Device, error) {
	return w.drv.open(w.tools)
}

// compiler is the software's NVRTC.
func (w *software) compiler() (*nvrtc, error) {
	return newNVRTC([]string{filepath.Join(softwareFolder, "libsoftware.so")})
}

func (w *software) tools() (tools, error) {
	c, err := w.compiler()
	return tools{compiler: c, images: w.images}, err
}

// device opens the first device.
func (w *software) device(t *testing.T) gpu.Device {
	t.Helper()
	devices, err := w.open()
	require.NoError(t, err)
	for _, d := range devices[1:] {
		require.NoError(t, d.Close())
	}
	return devices[0]
}

func TestConformanceInSoftware(t *testing.T) {
	w := startSoftware(t)
	gputest.Run(t, func(t *testing.T) gpu.Device { return w.device(t) })
}

func TestDevicesInSoftware(t *testing.T) {
	w := startSoftware(t)
	devices, err := w.open()
	require.NoError(t, err)
	require.Len(t, devices, 2)
	for i, d := range devices {
		require.Equal(t, fmt.Sprint("software ", i), d.Info().Name)
		require.NoError(t, d.Close())
	}
}

// TestDriversThatDoNotOpen pins what users read in gpu.Devices.
func TestDriversThatDoNotOpen(t *testing.T) {
	w := startSoftware(t)
	lib := filepath.Join(softwareFolder, "libsoftware.so")
	for _, row := range []struct {
		function string
		st       status
		want     string
	}{
		{"cuInit", errorNoDevice, "no permission for /dev/nvidia"},
		{"cuInit", errorMismatch, "restart the machine"},
		{"cuInit", errorSystemNotReady, "nvidia-fabricmanager"},
		{"cuDriverGetVersion", errorStubLibrary, "LD_LIBRARY_PATH"},
	} {
		w.fail(row.function, 1, row.st)
		_, err := newDriver([]string{lib})
		require.ErrorContains(t, err, row.want)
	}
	_, err := newDriver([]string{"libm.so.6"})
	require.ErrorContains(t, err, "no NVIDIA driver")
	_, err = newDriver([]string{"libnone.so.1"})
	require.ErrorContains(t, err, "libnone.so.1")
	for _, path := range []string{"libnone.so.1", "libm.so.6"} {
		_, err = newNVRTC([]string{path})
		require.ErrorContains(t, err, "pip install nvidia-cuda-nvrtc")
	}
	w.fail("cuDeviceGetCount", 1, 999)
	_, err = w.open()
	require.ErrorContains(t, err, "CUDA_ERROR_OTHER (999)")
	for nth, want := range []string{"", "capability", "", "warps", "context", "map host memory"} {
		if want == "" {
			continue
		}
		// Attributes are read in order: shared memory, capability (2), warp size, compute mode, host mapping. One that fails
		// reads as 0, on the first of the two devices.
		w.fail("cuDeviceGetAttribute", nth+1, 1)
		devices, err := w.open()
		require.NoError(t, err)
		if want == "context" { // compute mode 0 is the ordinary one
			require.Len(t, devices, 2)
		} else {
			require.Len(t, devices, 1, want)
		}
		for _, d := range devices {
			require.NoError(t, d.Close())
		}
	}
}

const addOne = `kernel void add_one(device const uint* a [[buffer(0)]], device uint* b [[buffer(1)]],
    constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) { if (i < n) b[i] = a[i] + 1u; }`

// work is a small program: allocate, compile, upload, run, download, compare.
func work(d gpu.Device) error {
	const n = 20_000 // a copy is one of the driver's
	var held []interface{ Release() }
	defer func() {
		for _, h := range held {
			h.Release()
		}
	}()
	var buffers [4]gpu.Buffer
	for i, place := range []gpu.Place{gpu.Shared, gpu.Private, gpu.Private, gpu.Shared} {
		b, err := d.Alloc(4*n, place)
		if err != nil {
			return err
		}
		buffers[i] = b
		held = append(held, b)
	}
	p, err := d.Compile(gpu.Source{Name: "add_one", Text: addOne})
	if err != nil {
		return err
	}
	held = append(held, p)
	for i := range buffers[0].Host() {
		buffers[0].Host()[i] = byte(i)
		buffers[3].Host()[i] = 0
	}
	c := d.Commands()
	c.Copy(buffers[1], 0, buffers[0], 0, 4*n)
	c.Barrier()
	c.Dispatch(p, (n+255)/256, 256, []gpu.Arg{{Buf: buffers[1]}, {Buf: buffers[2]}, {Bytes: []byte{n & 255, n >> 8, 0, 0}}})
	c.Barrier()
	c.Copy(buffers[3], 0, buffers[2], 0, 4*n)
	c.Copy(buffers[0], 0, buffers[3], 0, 4*n)
	e, err := c.Commit()
	if err != nil {
		return err
	}
	if err := e.Wait(context.Background()); err != nil {
		return err
	}
	in := unsafe.Slice((*uint32)(unsafe.Pointer(&buffers[0].Host()[0])), n)
	for i, v := range in {
		if v != 0x03020100+uint32(i%64)*0x04040404+1 {
			return fmt.Errorf("element %d is %#x", i, v)
		}
	}
	return nil
}

// TestFaultsInSoftware has every call of the driver's library fail in turn, as if there were no memory and as if the
// context were broken. What fails says so, nothing is left behind (startSoftware checks that), and unless the device is
// lost the next try succeeds.
func TestFaultsInSoftware(t *testing.T) {
	w := startSoftware(t)
	for _, row := range []struct {
		function string
		calls    int // so many of them are made to fail, one at a time
	}{
		{"cuMemAlloc_v2", 3}, {"cuMemHostRegister_v2", 4}, {"cuMemHostGetDevicePointer_v2", 4}, {"cuStreamCreate", 2},
		{"cuModuleLoadData", 3}, {"cuModuleGetFunction", 3}, {"cuFuncGetAttribute", 2}, {"cuLaunchKernel", 3}, {"cuMemcpyAsync", 3},
		{"cuStreamWriteValue64_v2", 2}, {"cuEventCreate", 2}, {"cuEventRecord", 2}, {"kernel", 3},
		{"nvrtcCreateProgram", 1}, {"nvrtcCompileProgram", 1},
	} {
		for _, st := range []status{errorOutOfMemory, 700} {
			for nth := range row.calls {
				what := fmt.Sprintf("%s, call %d, status %d", row.function, nth+1, st)
				w.call("software_reset")
				if strings.HasPrefix(row.function, "nvrtc") {
					w.images.drop(softwareKey(t, w))
				}
				d := w.device(t)
				w.fail(row.function, nth+1, st)
				err := work(d)
				w.call("software_reset")
				if err != nil {
					require.True(t, errors.Is(err, gpu.ErrOutOfMemory) || errors.Is(err, gpu.ErrDeviceLost) ||
						errors.Is(err, gpu.ErrCompile), "%s: %v", what, err)
				}
				if !errors.Is(err, gpu.ErrDeviceLost) {
					require.NoError(t, work(d), "%s: after %v", what, err)
				}
				require.NoError(t, d.Close(), what)
			}
		}
	}
}

// softwareKey names the image of the kernel of work.
func softwareKey(t *testing.T, w *software) string {
	t.Helper()
	d := w.device(t).(*device)
	defer d.Close()
	prog, err := translate(gpu.Source{Name: "add_one", Text: addOne}, false)
	require.NoError(t, err)
	key, _, _ := d.imageKey("add_one", prog)
	return key
}

// TestLossInSoftware breaks the context under work of many goroutines.
func TestLossInSoftware(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	require.NoError(t, work(d))
	w.fail("kernel", 30, 700)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				err := work(d)
				if errors.Is(err, gpu.ErrDeviceLost) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a waiter hangs")
	}
	_, err := w.open()
	require.ErrorContains(t, err, "CUDA_ERROR_ILLEGAL_ADDRESS")
	require.NoError(t, d.Close())
}

// TestLossBesideWork breaks the context while a kernel on another stream still runs and then writes: what it writes to
// must not be freed before.
func TestLossBesideWork(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	slow, err := d.Compile(gpu.Source{Name: "slow", Text: `#include <metal_stdlib>
using namespace metal;
kernel void slow(device uint* out [[buffer(0)]], device atomic_uint* began [[buffer(1)]]) {
    atomic_store_explicit(began, 1u, memory_order_relaxed);
    for (uint i = 0; i < 100000000u; i++) atomic_store_explicit(began, 1u, memory_order_relaxed);
    for (uint i = 0; i < 1048576u; i++) out[i] = i; }`})
	require.NoError(t, err)
	commit := func(out, began gpu.Buffer) gpu.Event {
		c := d.Commands()
		c.Dispatch(slow, 1, 1, []gpu.Arg{{Buf: out}, {Buf: began}})
		e, err := c.Commit()
		require.NoError(t, err)
		return e
	}
	out, err := d.Alloc(4<<20, gpu.Shared)
	require.NoError(t, err)
	began, err := d.Alloc(4096, gpu.Shared)
	require.NoError(t, err)
	word := (*atomic.Uint32)(unsafe.Pointer(&began.Host()[0]))
	word.Store(0)
	e := commit(out, began)
	for word.Load() == 0 {
		runtime.Gosched()
	}
	w.fail("kernel", 1, 700)
	f := commit(out, began)
	out.Release()
	began.Release()
	require.ErrorIs(t, f.Wait(context.Background()), gpu.ErrDeviceLost)
	require.ErrorIs(t, e.Wait(context.Background()), gpu.ErrDeviceLost)
	slow.Release()
	require.NoError(t, d.Close())
}

// TestPoolInSoftware sees released device memory used again, and given back before an allocation fails.
func TestPoolInSoftware(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	others := w.live("device memory") // of devices that earlier tests lost
	live := func() int { return w.live("device memory") - others }
	gauge := d.(gpu.MemoryGauge)
	atFirst, err := gauge.FreeMemory()
	require.NoError(t, err)
	var first []gpu.Buffer
	for range 4 {
		b, err := d.Alloc(100<<20, gpu.Private)
		require.NoError(t, err)
		first = append(first, b)
	}
	for _, b := range first {
		b.Release()
	}
	require.Equal(t, 4, live())
	b, err := d.Alloc(100<<20-5, gpu.Private)
	require.NoError(t, err)
	require.Equal(t, 4, live())
	b.Release()
	b, err = d.Alloc(84<<20, gpu.Private)
	require.NoError(t, err)
	require.Equal(t, 4, live(), "a little larger does")
	require.Equal(t, 84<<20, b.Len())
	c, err := d.Alloc(60<<20, gpu.Private)
	require.NoError(t, err)
	require.Equal(t, 5, live(), "much larger does not")
	c.Release()
	require.NoError(t, gauge.TrimMemory())
	require.Equal(t, 1, live())
	free, err := gauge.FreeMemory()
	require.NoError(t, err)
	require.Equal(t, atFirst-100<<20, free)
	b.Release()
	w.fail("cuMemAlloc_v2", 1, errorOutOfMemory)
	b, err = d.Alloc(1<<20, gpu.Private)
	require.NoError(t, err)
	require.Equal(t, 1, live())
	require.NoError(t, d.Close())
	b.Release()
}

// TestContextInSoftware sees calls leave a thread's context as they found it.
func TestContextInSoftware(t *testing.T) {
	w := startSoftware(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := w.drv.bare()
	defer s.endBare()
	require.Equal(t, success, s.call(cuCtxPushCurrent, 77))
	before := w.call("software_contexts")
	d := w.device(t)
	require.NoError(t, work(d))
	require.NoError(t, d.Close())
	require.Equal(t, before, w.call("software_contexts"))
	require.Equal(t, success, s.call(cuCtxPopCurrent, s.result(0)))
	require.EqualValues(t, 77, s.out[0])
}
