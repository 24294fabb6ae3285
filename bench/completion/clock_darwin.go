//go:build amd64 || arm64

package main

// The clock of Go and of Metal's GPUEndTime: mach_absolute_time. x/sys has no name for it.
const monotonic = 8 // CLOCK_UPTIME_RAW
