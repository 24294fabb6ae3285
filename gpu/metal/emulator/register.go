//go:build linux && (amd64 || arm64)

package emulator

import (
	"sync"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal"
	"github.com/broadhead-go/broadhead/msl"
)

func init() { gpu.Register("emulator", Open) }

// opening is held while devices are listed: the option profile says which.
var opening sync.Mutex

// Open builds and loads the emulator if it has to and opens its devices. Most programs call gpu.Open("emulator")
// instead, which gives everybody the same device; Open makes a new one each time.
func Open() ([]gpu.Device, error) { return open(0) }

// OpenWide opens a device of the second profile: what CUDA has and Metal has not. Its Info has the abilities
// Float64, Atomic64 and ForwardProgress; its kernels may use double, 64-bit atomics, the memory orders acquire and
// release and atomic_thread_fence; subnormals are kept; threadgroups make progress independently. All checks are those
// of the first profile. Text that is meant for CUDA only is tested on it.
func OpenWide() ([]gpu.Device, error) {
	return open(msl.Float64 | msl.Atomic64 | msl.ForwardProgress)
}

func open(caps msl.Caps) ([]gpu.Device, error) {
	lib, err := Lib()
	if err != nil {
		return nil, err
	}
	opening.Lock()
	defer opening.Unlock()
	if caps != 0 {
		SetOption("profile", 1)
		defer SetOption("profile", 0)
	}
	return metal.Open(metal.Libs{ObjC: lib, Metal: lib, Caps: caps}, "emulator")
}
