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

// TestConformance runs on this Mac's GPU. A Mac whose GPU we do not support has nothing to conform.
func TestConformance(t *testing.T) {
	_, err := openSystem()
	if errors.Is(err, gpu.ErrUnsupported) {
		t.Log(err)
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
	_, err := openSystem()
	if errors.Is(err, gpu.ErrUnsupported) {
		t.Log(err)
		return
	}
	libs := Libs{}
	for path, to := range map[string]*uintptr{
		"/usr/lib/libobjc.A.dylib":                         &libs.ObjC,
		"/System/Library/Frameworks/Metal.framework/Metal": &libs.Metal,
	} {
		*to, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		require.NoError(t, err)
	}
	differences, err := CheckSelectors(libs)
	require.NoError(t, err)
	require.Empty(t, differences)
}
