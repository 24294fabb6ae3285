package main

// The doctor lists the devices of both drivers. The emulator is used only where it is named.
import (
	_ "github.com/broadhead-go/broadhead/gpu/cuda"
	_ "github.com/broadhead-go/broadhead/gpu/metal/emulator"
)
