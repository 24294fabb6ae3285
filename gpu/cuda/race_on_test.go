//go:build race && linux

package cuda

// raceEnabled: the race detector makes sync.Pool forget, so allocations are not counted.
const raceEnabled = true
