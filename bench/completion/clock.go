//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// epoch ties Go's clock to the system's monotonic one, which native code, other processes and devices stamp with. Reading
// Go's costs no system call, which could lose the processor.
var epoch = func() struct {
	at   time.Time
	mono time.Duration
} {
	var e struct {
		at   time.Time
		mono time.Duration
	}
	best := time.Hour
	for range 100 {
		before := time.Now()
		var ts unix.Timespec
		if err := unix.ClockGettime(monotonic, &ts); err != nil {
			panic(err)
		}
		if took := time.Since(before); took < best {
			best, e.at, e.mono = took, before.Add(took/2), time.Duration(ts.Nano())
		}
	}
	return e
}()

// now is the time of the system's monotonic clock.
func now() time.Duration { return epoch.mono + time.Since(epoch.at) }

// sleepUntil sleeps until then, at least for a moment.
func sleepUntil(then time.Duration) { time.Sleep(then - now()) }
