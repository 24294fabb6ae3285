//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/broadhead-go/broadhead/msl"

	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

// Libs are the loaded libraries that hold the Objective-C runtime and Metal, as purego.Dlopen returns them.
type Libs struct {
	ObjC  uintptr
	Metal uintptr
	Caps  msl.Caps // abilities beyond those of Metal: none but in an emulator
}

// id is an Objective-C object. It stays an integer: a tagged pointer is no address.
type id uintptr

// objc is a bound Objective-C runtime.
type objc struct {
	msgSend, getClass, registerName        uintptr
	retain, release, poolPush, poolPop     uintptr
	createDefaultDevice, copyDevices       uintptr
	sel                                    [selectorCount]uintptr
	classString, classOptions, classObject id
	caps                                   msl.Caps

	// double sends a message whose result comes back in the float register.
	double func(receiver, sel uintptr) float64

	sessions sync.Pool
}

// bind looks up the functions, classes and selectors that the driver uses.
func bind(libs Libs) (*objc, error) {
	rt := &objc{caps: libs.Caps}
	for _, f := range []struct {
		to   *uintptr
		lib  uintptr
		name string
	}{
		{&rt.msgSend, libs.ObjC, "objc_msgSend"},
		{&rt.getClass, libs.ObjC, "objc_getClass"},
		{&rt.registerName, libs.ObjC, "sel_registerName"},
		{&rt.retain, libs.ObjC, "objc_retain"},
		{&rt.release, libs.ObjC, "objc_release"},
		{&rt.poolPush, libs.ObjC, "objc_autoreleasePoolPush"},
		{&rt.poolPop, libs.ObjC, "objc_autoreleasePoolPop"},
		{&rt.createDefaultDevice, libs.Metal, "MTLCreateSystemDefaultDevice"},
		{&rt.copyDevices, libs.Metal, "MTLCopyAllDevices"},
	} {
		var err error
		if *f.to, err = purego.Dlsym(f.lib, f.name); err != nil {
			return nil, fmt.Errorf("metal: %w", err)
		}
	}
	for i, row := range selectors {
		rt.sel[i] = callText(rt.registerName, row.name)
	}
	for _, c := range []struct {
		to   *id
		name string
	}{{&rt.classString, "NSString"}, {&rt.classOptions, "MTLCompileOptions"}, {&rt.classObject, "NSObject"}} {
		if *c.to = id(callText(rt.getClass, c.name)); *c.to == 0 {
			return nil, fmt.Errorf("metal: no class %s", c.name)
		}
	}
	purego.RegisterFunc(&rt.double, rt.msgSend)
	rt.sessions.New = func() any { return &session{rt: rt} }
	return rt, nil
}

// callText calls a C function of one string.
func callText(fn uintptr, text string) uintptr {
	z := append([]byte(text), 0)
	r, _, _ := purego.SyscallN(fn, uintptr(unsafe.Pointer(&z[0])))
	return r
}

// session is a stretch of Objective-C work: one OS thread, one autorelease pool, and an argument block that is used
// again, so that a message allocates nothing.
//
// Arguments that are addresses must point into the Go heap or outside Go, and be kept alive by the caller.
type session struct {
	rt    *objc
	pool  uintptr
	args  [12]uintptr
	nserr uintptr // where methods leave an NSError

	// Scratch of the encoder.
	buffers, offsets [record.MaxArgs]uintptr
}

// begin opens a session; end closes it, on the same goroutine.
func (rt *objc) begin() *session {
	runtime.LockOSThread()
	s := rt.sessions.Get().(*session)
	s.pool = s.call(rt.poolPush)
	return s
}

func (s *session) end() {
	s.call(s.rt.poolPop, s.pool)
	s.rt.sessions.Put(s)
	runtime.UnlockOSThread()
}

// call calls a C function.
func (s *session) call(fn uintptr, args ...uintptr) uintptr {
	n := copy(s.args[:], args)
	r, _, _ := purego.SyscallN(fn, s.args[:n]...)
	return r
}

// send sends a message.
func (s *session) send(to id, sel selector, args ...uintptr) uintptr {
	s.args[0], s.args[1] = uintptr(to), s.rt.sel[sel]
	n := 2 + copy(s.args[2:], args)
	r, _, _ := purego.SyscallN(s.rt.msgSend, s.args[:n]...)
	return r
}

// sendBool sends a message with a BOOL result: the low byte only, the rest of the register is not defined.
func (s *session) sendBool(to id, sel selector, args ...uintptr) bool {
	return byte(s.send(to, sel, args...)) != 0
}

func (s *session) retain(o id)  { s.call(s.rt.retain, uintptr(o)) }
func (s *session) release(o id) { s.call(s.rt.release, uintptr(o)) }

// responds says whether an object understands a message: newer ones exist only from some macOS on.
func (s *session) responds(o id, sel selector) bool {
	return s.sendBool(o, selRespondsToSelector, s.rt.sel[sel])
}

// string makes an NSString that the caller releases.
func (s *session) string(text string) id {
	const utf8 = 4
	b := append([]byte(text), 0)
	defer runtime.KeepAlive(b)
	o := id(s.send(s.rt.classString, selAlloc))
	return id(s.send(o, selInitWithBytes, escaped(uintptr(unsafe.Pointer(&b[0]))), uintptr(len(text)), utf8))
}

// text copies an NSString.
func (s *session) text(o id) string {
	const utf8 = 4
	if o == 0 {
		return ""
	}
	n := s.send(o, selLengthOfBytes, utf8)
	p := s.send(o, selUTF8String)
	if n == 0 || p == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(pointer(p)), n))
}

// pointer is an address outside Go as a pointer.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// escaped returns p. Its mark makes what a pointer converted in its argument points to escape to the heap, where the
// address stays what it is while the caller keeps it alive.
//
//go:uintptrescapes
func escaped(p uintptr) uintptr { return p }
