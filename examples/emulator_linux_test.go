//go:build amd64 || arm64

package examples_test

import "testing"

func TestOnEmulator(t *testing.T) {
	runAll(t, "emulator", "emulator", "BROADHEAD_DEVICE=emulator", "BROADHEAD_CROSSOVER=0")
}
