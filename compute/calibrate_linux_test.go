//go:build linux && (amd64 || arm64) && !noemulator

package compute

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	_ "github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/msl"
)

// A calibration is used at once, stored, read again, and ignored when it is damaged.
func TestCalibrate(t *testing.T) {
	nothingSet(t)
	dev, err := gpu.Open("emulator")
	require.NoError(t, err)
	info := dev.Info()
	was := calibrateRows
	calibrateRows = []int{2048, 1024}
	dir := t.TempDir()
	userCacheDir = func() (string, error) { return dir, nil }
	t.Cleanup(func() {
		calibrateRows, userCacheDir = was, os.UserCacheDir
		calibrations.Clear()
	})
	calibrations.Clear()

	list, err := Calibrate(WithDevice(context.Background(), dev))
	require.NoError(t, err)
	require.NotEmpty(t, list)
	rows, from := crossoverOf("sum", &info, crossReduce, msl.I64, HostMemory)
	require.Equal(t, "measured on this machine", from)

	calibrations.Clear()
	again, from := crossoverOf("sum", &info, crossReduce, msl.I64, HostMemory)
	require.Equal(t, "measured on this machine", from)
	require.Equal(t, rows, again)

	path, err := calibrationPath(&info)
	require.NoError(t, err)
	for _, text := range []string{"", "{", `{"Driver":"metal","Device":"another"}`} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		calibrations.Clear()
		_, from = crossoverOf("sum", &info, crossReduce, msl.I64, HostMemory)
		require.Equal(t, "default for emulator", from, text)
	}
	require.NoError(t, ForgetCalibration(dev))
	require.NoError(t, ForgetCalibration(dev))
	require.NoFileExists(t, path)

	_, err = Calibrate(WithDevice(context.Background(), nil))
	require.ErrorIs(t, err, gpu.ErrNoDevice)
}
