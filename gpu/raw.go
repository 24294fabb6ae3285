package gpu

import "time"

// RawTimer is an ability of devices for benchmarks: what the driver itself takes for empty kernels, without what this
// package does around them, as the floor that the rest is compared with.
type RawTimer interface {
	// TimeRaw runs an empty kernel n times over, one behind the other, and waits by polling a word that the device writes
	// last; as a graph built before, or launch by launch. It repeats that and returns how long each time took.
	TimeRaw(n, repeats int, graph bool) ([]time.Duration, error)
}
