package msl_test

import (
	_ "github.com/broadhead-go/broadhead/gpu/metal"
	_ "github.com/broadhead-go/broadhead/gpu/metal/emulator"
)
