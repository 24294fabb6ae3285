//go:build amd64 || arm64

package main

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Both sleep until a time and not for one: the signals by which the runtime stops goroutines interrupt a sleep, and one
// that began again from the start would never end.
const untilTime = 1 // TIMER_ABSTIME

// sleepHeld sleeps without telling the runtime, which believes that the goroutine computes.
func sleepHeld(d time.Duration) {
	ts := unix.NsecToTimespec(int64(now() + d))
	for {
		_, _, errno := syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, monotonic, untilTime, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// sleepReleased sleeps in a system call as Go makes them.
func sleepReleased(d time.Duration) {
	ts := unix.NsecToTimespec(int64(now() + d))
	for {
		_, _, errno := syscall.Syscall6(unix.SYS_CLOCK_NANOSLEEP, monotonic, untilTime, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
