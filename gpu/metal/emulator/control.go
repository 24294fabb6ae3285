//go:build linux

package emulator

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// The control functions of the library, bound once.
var library struct {
	once   sync.Once
	handle uintptr
	err    error

	setMode, setOption, takeViolations, live, messages, poison, unpoison, leaks uintptr
}

// Lib builds the emulator if it has to, loads it once for the process, and
// returns the handle for purego.Dlsym. Its symbols are global, because the
// kernels that it compiles are linked against them.
func Lib() (uintptr, error) {
	library.once.Do(func() {
		library.handle, library.err = load()
	})
	return library.handle, library.err
}

func load() (uintptr, error) {
	path, err := Build(context.Background())
	if err != nil {
		return 0, err
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return 0, fmt.Errorf("emulator: %w", err)
	}
	for _, row := range []struct {
		address *uintptr
		name    string
	}{
		{&library.setMode, "metalemu_set_mode"},
		{&library.setOption, "metalemu_set_option"},
		{&library.takeViolations, "metalemu_take_violations"},
		{&library.live, "metalemu_live"},
		{&library.messages, "metalemu_messages"},
		{&library.poison, "metalemu_poison"},
		{&library.unpoison, "metalemu_unpoison"},
		{&library.leaks, "metalemu_report_leaks"},
	} {
		if *row.address, err = purego.Dlsym(handle, row.name); err != nil {
			return 0, fmt.Errorf("emulator: %w", err)
		}
	}
	return handle, nil
}

// call calls a control function; without a library it panics, because the
// program cannot have done anything that these functions could tell about.
//
//go:uintptrescapes
func call(address *uintptr, args ...uintptr) uintptr {
	if _, err := Lib(); err != nil {
		panic(err)
	}
	r, _, _ := purego.SyscallN(*address, args...)
	return r
}

func cString(s string) *byte {
	b := append([]byte(s), 0)
	return &b[0]
}

// SetOption sets an option by its name in src/control.cpp, such as "order",
// "sanitize" or "fail_command". It panics if there is no such option.
func SetOption(name string, value int64) {
	n, v := cString(name), cString(fmt.Sprint(value))
	ok := call(&library.setOption, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(v)))
	if uint32(ok) == 0 {
		panic(fmt.Sprintf("emulator: no option %q", name))
	}
}

// Record makes broken rules be recorded for [Violations] instead of ending the process.
func Record() { call(&library.setMode, 1) }

// Abort undoes [Record].
func Abort() { call(&library.setMode, 0) }

// Violations returns and forgets what was recorded: "kind: message" each.
func Violations() []string {
	var all []string
	buf := make([]byte, 1<<16)
	for {
		n := call(&library.takeViolations, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		if n == 0 {
			return all
		}
		all = append(all, strings.Split(strings.TrimSuffix(string(buf[:n]), "\n"), "\n")...)
	}
}

// Live returns the number of live objects of a class, such as "EmuMTLBuffer";
// -1 if there is no such class.
func Live(class string) int {
	c := cString(class)
	n := int64(call(&library.live, uintptr(unsafe.Pointer(c))))
	runtime.KeepAlive(c)
	return int(n)
}

// Messages returns the number of Objective-C messages sent so far.
func Messages() uint64 { return uint64(call(&library.messages)) }

// Poison marks bytes that no kernel and no copy may touch until [Unpoison],
// such as the slack behind an allocation within a buffer.
func Poison(p unsafe.Pointer, bytes int) { call(&library.poison, uintptr(p), uintptr(bytes)) }

// Unpoison makes the bytes usable again.
func Unpoison(p unsafe.Pointer, bytes int) { call(&library.unpoison, uintptr(p), uintptr(bytes)) }

// CheckLeaks reports, as violations of the kind leak, the classes of objects that the program has made and not
// released. Call it before the program ends, when its devices are closed: Go programs end without a word to C libraries.
// It returns the number of such classes.
func CheckLeaks() int { return int(call(&library.leaks)) }
