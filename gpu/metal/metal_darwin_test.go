//go:build amd64 || arm64

package metal

import (
	"errors"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
)

// supported says whether this Mac's GPU is one that the driver takes; with another there is nothing to test.
func supported(t *testing.T) bool {
	devices, err := openSystem()
	if errors.Is(err, gpu.ErrUnsupported) {
		t.Log(err)
		return false
	}
	require.NoError(t, err)
	for _, d := range devices {
		require.NoError(t, d.Close())
	}
	return true
}

func TestConformance(t *testing.T) {
	if !supported(t) {
		return
	}
	gputest.Run(t, func(t *testing.T) gpu.Device {
		devices, err := openSystem()
		require.NoError(t, err)
		for _, d := range devices[1:] {
			require.NoError(t, d.Close())
		}
		return devices[0]
	})
}

func TestSelectors(t *testing.T) {
	if !supported(t) {
		return
	}
	var libs Libs
	for path, to := range map[string]*uintptr{
		"/usr/lib/libobjc.A.dylib":                         &libs.ObjC,
		"/System/Library/Frameworks/Metal.framework/Metal": &libs.Metal,
	} {
		var err error
		*to, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		require.NoError(t, err)
	}
	differences, err := CheckSelectors(libs)
	require.NoError(t, err)
	require.Empty(t, differences)
}
