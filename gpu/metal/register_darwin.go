//go:build amd64 || arm64

package metal

import (
	"fmt"

	"github.com/ebitengine/purego"

	"github.com/broadhead-go/broadhead/gpu"
)

func init() { gpu.Register("metal", openSystem) }

// openSystem opens the system's Metal.
func openSystem() ([]gpu.Device, error) {
	libs, err := System()
	if err != nil {
		return nil, err
	}
	return Open(libs, "metal")
}

// System loads the system's Objective-C runtime and Metal. Foundation must be loaded or NSString has no class, and
// CoreGraphics or a command-line program has no default device.
func System() (Libs, error) {
	var libs Libs
	var ignored uintptr
	for _, l := range []struct {
		to   *uintptr
		path string
	}{
		{&libs.ObjC, "/usr/lib/libobjc.A.dylib"},
		{&ignored, "/System/Library/Frameworks/Foundation.framework/Foundation"},
		{&ignored, "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics"},
		{&libs.Metal, "/System/Library/Frameworks/Metal.framework/Metal"},
	} {
		handle, err := purego.Dlopen(l.path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			return Libs{}, fmt.Errorf("metal: %w", err)
		}
		*l.to = handle
	}
	return libs, nil
}
