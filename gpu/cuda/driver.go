//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

// function is an entry of the driver's library, by its place in functionNames.
type function int

const (
	cuInit function = iota
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceGetAttribute
	cuDeviceTotalMem
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxPushCurrent
	cuCtxPopCurrent
	cuMemGetInfo
	cuMemAlloc
	cuMemFree
	cuMemHostAlloc
	cuMemFreeHost
	cuMemHostRegister
	cuMemHostUnregister
	cuMemHostGetDevicePointer
	cuMemcpyAsync
	cuModuleLoadData
	cuModuleUnload
	cuModuleGetFunction
	cuFuncGetAttribute
	cuLaunchKernel
	cuLaunchHostFunc
	cuStreamCreate
	cuStreamDestroy
	cuStreamQuery
	cuStreamSynchronize
	cuStreamWriteValue64
	cuEventCreate
	cuEventDestroy
	cuEventRecord
	cuEventSynchronize
	cuEventElapsedTime
	cuGraphCreate
	cuGraphDestroy
	cuGraphAddKernelNode
	cuGraphAddMemcpyNode
	cuGraphInstantiate
	cuGraphUpload
	cuGraphLaunch
	cuGraphExecKernelNodeSetParams
	cuGraphExecMemcpyNodeSetParams
	cuGraphExecDestroy
	functionCount
)

// functionNames are the symbols: of the versions that drivers since CUDA 12.0 have.
var functionNames = [functionCount]string{
	cuInit:                    "cuInit",
	cuDriverGetVersion:        "cuDriverGetVersion",
	cuGetErrorName:            "cuGetErrorName",
	cuGetErrorString:          "cuGetErrorString",
	cuDeviceGetCount:          "cuDeviceGetCount",
	cuDeviceGet:               "cuDeviceGet",
	cuDeviceGetName:           "cuDeviceGetName",
	cuDeviceGetAttribute:      "cuDeviceGetAttribute",
	cuDeviceTotalMem:          "cuDeviceTotalMem_v2",
	cuDevicePrimaryCtxRetain:  "cuDevicePrimaryCtxRetain",
	cuDevicePrimaryCtxRelease: "cuDevicePrimaryCtxRelease_v2",
	cuCtxPushCurrent:          "cuCtxPushCurrent_v2",
	cuCtxPopCurrent:           "cuCtxPopCurrent_v2",
	cuMemGetInfo:              "cuMemGetInfo_v2",
	cuMemAlloc:                "cuMemAlloc_v2",
	cuMemFree:                 "cuMemFree_v2",
	cuMemHostAlloc:            "cuMemHostAlloc",
	cuMemFreeHost:             "cuMemFreeHost",
	cuMemHostRegister:         "cuMemHostRegister_v2",
	cuMemHostUnregister:       "cuMemHostUnregister",
	cuMemHostGetDevicePointer: "cuMemHostGetDevicePointer_v2",
	cuMemcpyAsync:             "cuMemcpyAsync",
	cuModuleLoadData:          "cuModuleLoadData",
	cuModuleUnload:            "cuModuleUnload",
	cuModuleGetFunction:       "cuModuleGetFunction",
	cuFuncGetAttribute:        "cuFuncGetAttribute",
	cuLaunchKernel:            "cuLaunchKernel",
	cuLaunchHostFunc:          "cuLaunchHostFunc",
	cuStreamCreate:            "cuStreamCreate",
	cuStreamDestroy:           "cuStreamDestroy_v2",
	cuStreamQuery:             "cuStreamQuery",
	cuStreamSynchronize:       "cuStreamSynchronize",
	cuStreamWriteValue64:      "cuStreamWriteValue64_v2",
	cuEventCreate:             "cuEventCreate",
	cuEventDestroy:            "cuEventDestroy_v2",
	cuEventRecord:             "cuEventRecord",
	cuEventSynchronize:        "cuEventSynchronize",
	cuEventElapsedTime:        "cuEventElapsedTime",

	cuGraphCreate:                  "cuGraphCreate",
	cuGraphDestroy:                 "cuGraphDestroy",
	cuGraphAddKernelNode:           "cuGraphAddKernelNode_v2",
	cuGraphAddMemcpyNode:           "cuGraphAddMemcpyNode",
	cuGraphInstantiate:             "cuGraphInstantiateWithFlags",
	cuGraphUpload:                  "cuGraphUpload",
	cuGraphLaunch:                  "cuGraphLaunch",
	cuGraphExecKernelNodeSetParams: "cuGraphExecKernelNodeSetParams_v2",
	cuGraphExecMemcpyNodeSetParams: "cuGraphExecMemcpyNodeSetParams",
	cuGraphExecDestroy:             "cuGraphExecDestroy",
}

// status is a CUresult.
type status uint32

const (
	success              status = 0
	errorInvalidValue    status = 1
	errorOutOfMemory     status = 2
	errorStubLibrary     status = 34
	errorNoDevice        status = 100
	errorInvalidImage    status = 200
	errorNoBinary        status = 209
	errorInvalidPTX      status = 218
	errorNoJIT           status = 221
	errorUnsupportedPTX  status = 222
	errorJITDisabled     status = 223
	errorNotFound        status = 500
	errorNotReady        status = 600
	errorLaunchResources status = 701
	errorSystem          status = 304
	errorNotPermitted    status = 800
	errorNotSupported    status = 801
	errorSystemNotReady  status = 802
	errorMismatch        status = 803
	errorInvalidContext  status = 201
	errorContextGone     status = 709
)

// minDriver is the oldest CUDA version of a driver that has all of functionNames.
const minDriver = 12000

// driver is the loaded libcuda.
type driver struct {
	fn       [functionCount]uintptr
	version  int
	sessions sync.Pool
	kept     keptKernels
}

// loadDriver loads and starts libcuda, once.
var loadDriver = sync.OnceValues(func() (*driver, error) { return newDriver(driverPaths) })

func newDriver(paths []string) (*driver, error) {
	library, err := loadFirst(paths)
	if err != nil {
		return nil, fmt.Errorf("cuda: no NVIDIA driver: %w", err)
	}
	d := new(driver)
	d.sessions.New = func() any { return &session{drv: d} }
	for _, f := range []function{cuInit, cuDriverGetVersion, cuGetErrorName, cuGetErrorString} {
		if d.fn[f], err = purego.Dlsym(library, functionNames[f]); err != nil {
			return nil, fmt.Errorf("cuda: the library is no NVIDIA driver: %w", err)
		}
	}
	s := d.bare()
	defer s.endBare()
	starts := func(st status) error {
		if st == success {
			return nil
		}
		return fmt.Errorf("cuda: the NVIDIA driver does not start: %w%s", d.describe(st), hint(st))
	}
	if err := starts(s.call(cuDriverGetVersion, s.result(0))); err != nil {
		return nil, err
	}
	if d.version = int(int32(s.out[0])); d.version < minDriver {
		return nil, fmt.Errorf("cuda: the NVIDIA driver is too old: it is for CUDA %s, CUDA %s (driver 525) or later is needed",
			versionText(d.version), versionText(minDriver))
	}
	if err := starts(s.call(cuInit, 0)); err != nil {
		return nil, err
	}
	if err := symbols(library, functionNames[:], d.fn[:]); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	return d, nil
}

// hint says what usually is behind a driver that does not start.
func hint(st status) string {
	switch st {
	case errorStubLibrary:
		return " (this libcuda is the toolkit's stub for linking: take its folder out of LD_LIBRARY_PATH)"
	case errorNoDevice:
		return " (no GPU, CUDA_VISIBLE_DEVICES hides it, or there is no permission for /dev/nvidia*)"
	case errorSystem, errorNotPermitted:
		return " (no permission for /dev/nvidia*, or the container has not been given the devices)"
	case errorSystemNotReady:
		return " (machines with NVSwitch need the service nvidia-fabricmanager, of the driver's version)"
	case errorMismatch:
		return " (kernel module and library are of different versions: restart the machine after an update)"
	}
	return ""
}

func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// describe makes an error of a status.
func (d *driver) describe(st status) error {
	s := d.bare()
	defer s.endBare()
	name, text := "CUDA error", "unknown"
	if s.call(cuGetErrorName, uintptr(st), s.result(0)) == success {
		name = textAt(s.out[0])
	}
	if s.call(cuGetErrorString, uintptr(st), s.result(0)) == success {
		text = textAt(s.out[0])
	}
	return fmt.Errorf("%s (%d): %s", name, st, text)
}

// textAt copies a C string.
func textAt(at uintptr) string {
	if at == 0 {
		return ""
	}
	p := pointer(at)
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// pointer makes a pointer of an address outside the Go heap.
func pointer(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// address is where b starts.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// errContextGone says that somebody has destroyed the context, and all work and memory in it.
var errContextGone = errors.New("the context is gone")

// session is a stretch of calls on one OS thread with one current context. It owns the blocks that calls read and
// write, which must not lie on a Go stack, so that a call allocates nothing.
type session struct {
	drv    *driver
	args   [12]uintptr
	out    [2]uintptr
	text   [256]byte
	values [record.MaxArgs]uintptr // kernel arguments, and where they are
	where  [record.MaxArgs]uintptr
	nodes  []node // of the recording that is being committed
	shape  []uint64
	image  []byte
	kernel kernelNode
	memory memoryNode
}

// begin opens a session in a context; end closes it, on the same goroutine, and leaves the context that was current.
func (d *driver) begin(context uintptr) (*session, error) {
	runtime.LockOSThread()
	s := d.sessions.Get().(*session)
	if st := s.call(cuCtxPushCurrent, context); st != success {
		s.drv.sessions.Put(s)
		runtime.UnlockOSThread()
		err := d.describe(st)
		if st == errorInvalidContext || st == errorContextGone {
			err = fmt.Errorf("%w: %w", errContextGone, err)
		}
		return nil, fmt.Errorf("%w: %w", gpu.ErrDeviceLost, err)
	}
	return s, nil
}

func (s *session) end() {
	s.call(cuCtxPopCurrent, s.result(0))
	s.drv.sessions.Put(s)
	runtime.UnlockOSThread()
}

// bare opens a session for calls that need no context.
func (d *driver) bare() *session { return d.sessions.Get().(*session) }

func (s *session) endBare() { s.drv.sessions.Put(s) }

// call calls a function of the driver. Arguments that are addresses point outside the Go heap or to what the caller
// keeps alive.
func (s *session) call(f function, args ...uintptr) status {
	if mayWait[f] && s.drv.kept.count.Load() > 0 {
		s.drv.kept.stopAll()
		defer s.drv.kept.mu.Unlock()
	}
	n := copy(s.args[:], args)
	r, _, _ := purego.SyscallN(s.drv.fn[f], s.args[:n]...)
	return status(r)
}

// result is where a call leaves a value: out[i], cleared.
func (s *session) result(i int) uintptr {
	s.out[i] = 0
	return uintptr(unsafe.Pointer(&s.out[i]))
}

// memoryError makes the error of an allocation of n bytes that failed.
func (d *device) memoryError(st status, n int) error {
	if st == errorOutOfMemory {
		return fmt.Errorf("%w: %d bytes: %w", gpu.ErrOutOfMemory, n, d.drv.describe(st))
	}
	return d.judge(st)
}

// howNVRTC tells how to get the compiler.
const howNVRTC = "its compiler NVRTC is missing: install the CUDA toolkit or " + `"pip install nvidia-cuda-nvrtc", or set ` + envNVRTC +
	" to the path of libnvrtc.so.12 or later"

var errNoNVRTC = errors.New("cuda: the driver works, but " + howNVRTC)
