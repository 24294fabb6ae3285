//go:build linux && (amd64 || arm64)

package emulator

import (
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal"
)

func init() { gpu.Register("emulator", Open) }

// Open builds and loads the emulator if it has to and opens its devices. Most programs call gpu.Open("emulator")
// instead, which gives everybody the same device; Open makes a new one each time.
func Open() ([]gpu.Device, error) {
	lib, err := Lib()
	if err != nil {
		return nil, err
	}
	return metal.Open(metal.Libs{ObjC: lib, Metal: lib}, "emulator")
}
