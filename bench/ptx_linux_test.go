//go:build amd64 || arm64

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/cuda"
)

// The kernels that programs have compiled beforehand are those of the texts as they are now: all or, before the archive is
// made, none.
func TestPrecompiledAreCurrent(t *testing.T) {
	kernels, err := coreKernels()
	require.NoError(t, err)
	var stale []string
	names := map[string]bool{}
	for _, k := range kernels {
		require.False(t, names[k.Name], "two kernels are called %s", k.Name)
		names[k.Name] = true
		if !cuda.Precompiled(k) {
			stale = append(stale, k.Name)
		}
	}
	t.Logf("%d core kernels, %d compiled beforehand", len(kernels), cuda.PrecompiledKernels())
	for _, want := range []string{"sum_i64", "min_max_i64_nulls"} {
		require.True(t, names[want], "%s of %d", want, len(names))
	}
	if cuda.PrecompiledKernels() > 0 {
		require.Empty(t, stale, "their texts have changed: make gpu/cuda/kernels/ptx.zst anew with go run ./bench ptx, or empty it")
		require.Equal(t, len(kernels)+1, cuda.PrecompiledKernels(), "kernels that are not of the core any more")
	}
	require.False(t, cuda.Precompiled(gpu.Source{Name: kernels[0].Name, Text: kernels[0].Text + " "}))
}

func TestPTXRefuses(t *testing.T) {
	require.ErrorContains(t, run(context.Background(), []string{"ptx"}, &bytes.Buffer{}, &bytes.Buffer{}), "--out")
	t.Setenv("BROADHEAD_NVRTC", filepath.Join(t.TempDir(), "none.so"))
	out := filepath.Join(t.TempDir(), "ptx.zst")
	require.ErrorContains(t, run(context.Background(), []string{"ptx", "--out", out}, &bytes.Buffer{}, &bytes.Buffer{}), "NVRTC is missing")
	_, err := os.Stat(out)
	require.ErrorIs(t, err, os.ErrNotExist)
}
