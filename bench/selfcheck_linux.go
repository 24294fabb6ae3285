//go:build amd64 || arm64

package main

import (
	"github.com/broadhead-go/broadhead/gpu/metal"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
)

// metalDriver is what is checked here: there is no Metal on Linux, so the self-check itself is, on the emulator.
const metalDriver = emulatorName

func metalLibs() (metal.Libs, error) {
	lib, err := emulator.Lib()
	return metal.Libs{ObjC: lib, Metal: lib}, err
}
