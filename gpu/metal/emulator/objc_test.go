//go:build linux

package emulator

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A binding of the emulated runtime, just large enough for the tests here. It
// is written apart from package gpu/metal, so that one checks the other.

type id = uintptr

var objc struct {
	msgSend, registerName, getClass, retain, release, poolPush, poolPop uintptr
	createDevice, copyAllDevices, instanceMethod, typeEncoding, holding uintptr
	selectors                                                           sync.Map
	device, queue                                                       id
	gpuTime                                                             func(id, selector uintptr) float64
}

func TestMain(m *testing.M) {
	handle, err := Lib()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name, p := range map[string]*uintptr{
		"objc_msgSend":                 &objc.msgSend,
		"sel_registerName":             &objc.registerName,
		"objc_getClass":                &objc.getClass,
		"objc_retain":                  &objc.retain,
		"objc_release":                 &objc.release,
		"objc_autoreleasePoolPush":     &objc.poolPush,
		"objc_autoreleasePoolPop":      &objc.poolPop,
		"MTLCreateSystemDefaultDevice": &objc.createDevice,
		"MTLCopyAllDevices":            &objc.copyAllDevices,
		"class_getInstanceMethod":      &objc.instanceMethod,
		"method_getTypeEncoding":       &objc.typeEncoding,
		"metalemu_holding":             &objc.holding,
	} {
		if *p, err = purego.Dlsym(handle, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	purego.RegisterFunc(&objc.gpuTime, objc.msgSend)
	Record()
	objc.device = raw(objc.createDevice)
	objc.queue = send(objc.device, "newCommandQueue")
	os.Exit(m.Run())
}

//go:uintptrescapes
func raw(f uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

func sel(name string) uintptr {
	if s, ok := objc.selectors.Load(name); ok {
		return s.(uintptr)
	}
	s := raw(objc.registerName, uintptr(unsafe.Pointer(cString(name))))
	objc.selectors.Store(name, s)
	return s
}

func class(name string) id { return raw(objc.getClass, uintptr(unsafe.Pointer(cString(name)))) }

//go:uintptrescapes
func send(o id, name string, args ...uintptr) uintptr {
	return raw(objc.msgSend, append([]uintptr{o, sel(name)}, args...)...)
}

func release(o id) { raw(objc.release, o) }

// isTrue reads a BOOL: the low byte only.
func isTrue(r uintptr) bool { return byte(r) != 0 }

// pool runs f inside an autorelease pool, which belongs to an OS thread.
func pool(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	token := raw(objc.poolPush)
	defer func() { raw(objc.poolPop, token) }()
	f()
}

// nsString returns a new NSString with one reference.
func nsString(s string) id {
	b := append([]byte(s), 0)
	return send(send(class("NSString"), "alloc"), "initWithBytes:length:encoding:",
		uintptr(unsafe.Pointer(&b[0])), uintptr(len(s)), 4)
}

// pointer makes a pointer of an address outside the Go heap.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func goString(o id) string {
	if o == 0 {
		return ""
	}
	n := send(o, "lengthOfBytesUsingEncoding:", 4)
	return string(unsafe.Slice((*byte)(pointer(send(o, "UTF8String"))), n))
}

type size struct{ w, h, d uintptr }

func line(n int) size { return size{uintptr(n), 1, 1} }

// dispatch passes two structures of 24 bytes: on amd64 they lie on the stack
// behind the registers, on arm64 the addresses of copies are passed.
func dispatch(encoder id, groups, threads size) {
	const name = "dispatchThreadgroups:threadsPerThreadgroup:"
	if runtime.GOARCH == "amd64" {
		send(encoder, name, 0, 0, 0, 0, groups.w, groups.h, groups.d, threads.w, threads.h, threads.d)
		return
	}
	copies := [2]size{groups, threads}
	send(encoder, name, uintptr(unsafe.Pointer(&copies[0])), uintptr(unsafe.Pointer(&copies[1])))
}

const untracked = 1 << 8 // shared storage, MTLResourceHazardTrackingModeUntracked

type buffer struct{ id }

func newBuffer(bytes int) buffer {
	return buffer{send(objc.device, "newBufferWithLength:options:", uintptr(bytes), untracked)}
}

func wrapBuffer(memory []byte) buffer {
	return buffer{send(objc.device, "newBufferWithBytesNoCopy:length:options:deallocator:",
		uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), untracked, 0)}
}

func words[T any](b buffer) []T {
	n := send(b.id, "length") / unsafe.Sizeof(*new(T))
	return unsafe.Slice((*T)(pointer(send(b.id, "contents"))), n)
}

// newLibrary compiles MSL with fast math off.
func newLibrary(source string) (library id, err error) {
	pool(func() {
		text := nsString(source)
		defer release(text)
		options := send(class("MTLCompileOptions"), "new")
		defer release(options)
		send(options, "setFastMathEnabled:", 0)
		var e id
		library = send(objc.device, "newLibraryWithSource:options:error:", text, options, uintptr(unsafe.Pointer(&e)))
		if library == 0 {
			err = errors.New(goString(send(e, "localizedDescription")))
		}
	})
	return library, err
}

func newPipeline(library id, name string) (pipeline id, err error) {
	pool(func() {
		text := nsString(name)
		defer release(text)
		function := send(library, "newFunctionWithName:", text)
		if function == 0 {
			err = errors.New("no function " + name)
			return
		}
		defer release(function)
		var e id
		pipeline = send(objc.device, "newComputePipelineStateWithFunction:error:", function, uintptr(unsafe.Pointer(&e)))
		if pipeline == 0 {
			err = errors.New(goString(send(e, "localizedDescription")))
		}
	})
	return pipeline, err
}

// bufferError is a finished command buffer's error; nil if it completed.
func bufferError(cb id) error {
	if send(cb, "status") != 5 {
		return nil
	}
	return errors.New(goString(send(send(cb, "error"), "localizedDescription")))
}
