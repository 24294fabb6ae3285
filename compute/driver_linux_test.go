//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

// stubDriver is a libcuda of a given version whose cuInit fails with a given status.
const stubDriver = `
int cuDriverGetVersion(int* v) { *v = VERSION; return 0; }
int cuInit(unsigned f) { return STATUS; }
int cuGetErrorName(int e, const char** s) { *s = "CUDA_ERROR_OF_STUB"; return 0; }
int cuGetErrorString(int e, const char** s) { *s = "the stub's"; return 0; }
`

// TestDriversThatFail sees what users read where the driver does not serve, and that the CPU answers.
func TestDriversThatFail(t *testing.T) {
	if isChild(t) {
		always(t)
		ctx := context.Background()
		values := counting(compute.GetAllocator(ctx), 1000)
		defer values.Release()
		d, err := gpu.Default()
		require.Nil(t, d)
		require.ErrorIs(t, err, gpu.ErrNoDevice)
		sum, err := compute.SumArray(ctx, nil, values)
		require.NoError(t, err)
		require.Equal(t, "449700", sum.String())
		why, err := compute.Explain(ctx, "sum", nil, borrowed(values)...)
		require.NoError(t, err)
		fmt.Println(why)
		_, err = compute.ToDevice(ctx, values)
		require.ErrorIs(t, err, gpu.ErrNoDevice)
		return
	}
	if testing.Short() {
		t.Skip("builds libraries with a C compiler, which -short leaves out")
	}
	for _, c := range []struct {
		name            string
		version, status int
		want            string
	}{
		{"too old", 11080, 0, "too old: it is for CUDA 11.8, CUDA 12.0 (driver 525) or later is needed"},
		{"no permission", 12040, 100, "no permission for /dev/nvidia*"},
		{"not allowed", 12040, 304, "no permission for /dev/nvidia*"},
		{"mismatch", 12040, 803, "restart the machine"},
		{"no fabric manager", 12040, 802, "nvidia-fabricmanager"},
		{"toolkit's stub", 12040, 34, "the toolkit's stub for linking"},
		{"incomplete", 12040, 0, "the library lacks "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			source := filepath.Join(dir, "stub.c")
			require.NoError(t, os.WriteFile(source, []byte(stubDriver), 0o600))
			out, err := exec.Command("g++", "-x", "c", "-shared", "-fPIC", "-w", fmt.Sprint("-DVERSION=", c.version),
				fmt.Sprint("-DSTATUS=", c.status), "-o", filepath.Join(dir, "libcuda.so.1"), source).CombinedOutput()
			require.NoError(t, err, string(out))
			text, _ := childOf(t, "TestDriversThatFail", time.Minute, "LD_LIBRARY_PATH="+dir, "BROADHEAD_DEVICE=cuda")
			require.Contains(t, text, "sum of 1000 rows on cpu: gpu: no device: driver cuda: cuda: ")
			require.Contains(t, text, c.want)
		})
	}
	if cudaDevice(t) == nil {
		text, _ := childOf(t, "TestDriversThatFail", time.Minute, "BROADHEAD_DEVICE=cuda")
		require.Regexp(t, "no NVIDIA driver: libcuda.so.1|does not start|sees no GPU|NVRTC", text)
	}
}
