package main

// The emulator is listed by the doctor; it is used only where it is named.
import _ "github.com/broadhead-go/broadhead/gpu/metal/emulator"
