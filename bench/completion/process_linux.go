//go:build amd64 || arm64

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc: 10 ms on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// processTime is the processor time of another process, 0 if it is gone.
func processTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// the name, in parentheses, may hold spaces
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var total time.Duration
	for _, f := range fields[11:13] {
		n, _ := strconv.ParseInt(f, 10, 64)
		total += time.Duration(n) * tick
	}
	return total
}

// machineTime is the processor time that the whole machine has spent, and its load average.
func machineTime() (busy time.Duration, load float64) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, f := range strings.Fields(line)[1:] {
		if i == 3 || i == 4 || i >= 8 { // idle, waiting for disks; guests are counted already
			continue
		}
		n, _ := strconv.ParseInt(f, 10, 64)
		busy += time.Duration(n) * tick
	}
	text, _ = os.ReadFile("/proc/loadavg")
	fmt.Sscan(string(text), &load)
	return busy, load
}

// residentKiB is the memory of this process that is in RAM.
func residentKiB() int64 { return residentOf(os.Getpid()) }

// residentOf is that of another process. Memory that both map counts twice.
func residentOf(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, resident int64
	fmt.Sscan(string(text), &size, &resident)
	return resident * int64(os.Getpagesize()) / 1024
}

// machine names the processor.
func machine() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
