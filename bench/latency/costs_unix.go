//go:build unix

package latency

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what the process has used.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// raisePriority raises that of the calling thread (of the process where threads have none), if it may.
func raisePriority() bool { return unix.Setpriority(unix.PRIO_PROCESS, 0, -10) == nil }
