//go:build emulator

package main

// With -tags emulator, BROADHEAD_DEVICE=emulator runs the kernels on an emulated Metal device (Linux with g++).
import _ "github.com/broadhead-go/broadhead/gpu/metal/emulator"
