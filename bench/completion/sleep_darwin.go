//go:build amd64 || arm64

package main

import (
	"time"

	"github.com/ebitengine/purego"
)

var usleep = func() uintptr {
	system, err := purego.Dlopen("/usr/lib/libSystem.B.dylib", purego.RTLD_NOW)
	if err != nil {
		panic(err)
	}
	address, err := purego.Dlsym(system, "usleep")
	if err != nil {
		panic(err)
	}
	return address
}()

// sleepHeld spins in Go, since macOS has no system call that the runtime is not told of. The runtime can stop such a loop,
// after 10 ms, so this row shows less there than on Linux.
func sleepHeld(d time.Duration) {
	for end := now() + d; now() < end; {
	}
}

// sleepReleased sleeps in a native call.
func sleepReleased(d time.Duration) { purego.SyscallN(usleep, uintptr(d.Microseconds())) }
