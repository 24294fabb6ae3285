//go:build !race && linux

package cuda

const raceEnabled = false
