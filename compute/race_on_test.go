//go:build race

package compute_test

// raceEnabled: the race detector makes sync.Pool forget, so allocations are not counted.
const raceEnabled = true
