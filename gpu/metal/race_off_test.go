//go:build !race && linux

package metal_test

const raceEnabled = false
