//go:build amd64 || arm64

package main

import (
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ask runs a command of the system and returns its words.
func ask(name string, args ...string) []string {
	out, _ := exec.Command(name, args...).Output()
	return strings.Fields(string(out))
}

// processTime is the processor time of another process, 0 if it is gone.
func processTime(pid int) time.Duration {
	return sumTimes(ask("ps", "-o", "time=", "-p", strconv.Itoa(pid)))
}

// sumTimes adds times as ps writes them, [hours:]minutes:seconds.
func sumTimes(times []string) (total time.Duration) {
	for _, t := range times {
		seconds := 0.0
		for part := range strings.SplitSeq(t, ":") {
			n, _ := strconv.ParseFloat(part, 64)
			seconds = seconds*60 + n
		}
		total += time.Duration(seconds * float64(time.Second))
	}
	return total
}

// machineTime is the processor time of all processes that live, and the load average.
func machineTime() (busy time.Duration, load float64) {
	if out := ask("sysctl", "-n", "vm.loadavg"); len(out) > 1 { // { 1.0 1.0 1.0 }
		load, _ = strconv.ParseFloat(out[1], 64)
	}
	return sumTimes(ask("ps", "-A", "-o", "time=")), load
}

// residentKiB is the memory of this process that is in RAM.
func residentKiB() int64 { return residentOf(unix.Getpid()) }

// residentOf is that of another process. Memory that both map counts twice.
func residentOf(pid int) int64 {
	out := ask("ps", "-o", "rss=", "-p", strconv.Itoa(pid))
	if len(out) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(out[0], 10, 64)
	return n
}

// machine names the processor.
func machine() string {
	name, _ := unix.Sysctl("machdep.cpu.brand_string")
	return name
}
