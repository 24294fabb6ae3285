//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// TestPrecompiled compiles kernels beforehand and runs them where there is no compiler: those of the very same text.
func TestPrecompiled(t *testing.T) {
	increment := gpu.Source{Name: "add_one", Text: addOne}
	w := startSoftware(t)
	c, err := w.compiler()
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, c.precompile(&file, []gpu.Source{increment, {Name: "other", Text: "kernel void other(device int* a [[buffer(0)]]) {}"}}), "and the driver's own")
	a, err := readArchive(file.Bytes())
	require.NoError(t, err)
	require.Len(t, a.images, 3)
	require.Equal(t, "12.4", a.compiler)

	missing := errors.New("no compiler here")
	find := func() (tools, error) {
		return findTools(func() (*nvrtc, error) { return nil, missing }, func() (*archive, error) { return a, nil })
	}
	devices, err := w.drv.open(find)
	require.NoError(t, err)
	d := devices[0]
	require.NoError(t, work(d))

	changed := increment
	changed.Text += "\n"
	_, err = d.Compile(changed)
	require.ErrorIs(t, err, gpu.ErrCompile, "a text that has changed since")
	require.ErrorContains(t, err, "not among the 3 kernels compiled beforehand")
	require.ErrorContains(t, err, "pip install nvidia-cuda-nvrtc")
	for _, st := range []status{errorUnsupportedPTX, errorInvalidPTX} {
		w.fail("cuModuleLoadData", 1, st)
		_, err = d.Compile(increment)
		require.ErrorIs(t, err, gpu.ErrCompile)
		require.ErrorContains(t, err, "what NVRTC 12.4 made (the driver is for CUDA")
	}
	require.NoError(t, work(d), "the device goes on")
	for _, d := range devices {
		require.NoError(t, d.Close())
	}
}

// TestPrecompiledOnGPU has the real NVRTC compile beforehand, and the real driver load what it made without it.
func TestPrecompiledOnGPU(t *testing.T) {
	d := open(t)
	if d == nil {
		return
	}
	require.NoError(t, d.Close())
	c, err := loadNVRTC()
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, c.precompile(&file, []gpu.Source{{Name: "add_one", Text: addOne}}))
	a, err := readArchive(file.Bytes())
	require.NoError(t, err)
	require.Contains(t, string(a.images[precompiledKey("copy_bytes", must(translate(copyKernel, false)))]), ".target sm_80")
	drv, err := loadDriver()
	require.NoError(t, err)
	devices, err := drv.open(func() (tools, error) { return tools{precompiled: a}, nil })
	require.NoError(t, err)
	for _, d := range devices {
		require.NoError(t, work(d))
		require.NoError(t, d.Close())
	}
}

// The program's archive, if it has one, has the driver's own kernel as it is now. Whether it has the core's is tested where
// that is listed, in bench.
func TestOwnKernelIsPrecompiled(t *testing.T) {
	if PrecompiledKernels() > 0 {
		require.True(t, Precompiled(copyKernel), "make gpu/cuda/kernels/ptx.zst anew with go run ./bench ptx, or empty it")
	}
}

// envArchive names an archive that bench ptx has made, of which every kernel is loaded.
const envArchive = "BROADHEAD_TEST_ARCHIVE"

func TestArchiveOnGPU(t *testing.T) {
	d := open(t)
	if d == nil {
		return
	}
	defer func() { require.NoError(t, d.Close()) }()
	file := precompiledFile
	if path := os.Getenv(envArchive); path != "" {
		var err error
		file, err = os.ReadFile(path)
		require.NoError(t, err)
	}
	a, err := readArchive(file)
	if errors.Is(err, errNoPrecompiled) {
		t.Log(err)
		return
	}
	require.NoError(t, err)
	kernels := a.kernels
	if testing.Short() { // the driver compiles each
		kernels = kernels[:min(len(kernels), 64)]
	}
	var all sync.WaitGroup
	var next atomic.Int64
	for range 8 {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(kernels); i = int(next.Add(1)) - 1 {
				var m module
				k := kernels[i]
				if err := d.(*device).loadImage(gpu.Source{Name: k.Name}, a.images[k.Key], &m); err != nil {
					t.Errorf("%s: %v", k.Name, err)
					continue
				}
				d.(*device).unload(&m)
			}
		})
	}
	all.Wait()
	t.Logf("%d kernels by NVRTC %s", len(kernels), a.compiler)
}

func must(p program, err error) program {
	if err != nil {
		panic(err)
	}
	return p
}

// Without compiler and archive the error names both; an archive that is damaged is none.
func TestNoPrecompiled(t *testing.T) {
	missing := errors.New("no compiler here")
	none := func() (*nvrtc, error) { return nil, missing }
	_, err := findTools(none, func() (*archive, error) { return readArchive(nil) })
	require.ErrorIs(t, err, missing)
	require.ErrorContains(t, err, "no kernels compiled beforehand")

	var file bytes.Buffer
	require.NoError(t, writeArchive(&file, archiveHead{"13.0", []archiveEntry{{"a", "key a", 3}, {"b", "key b", 4}}}, [][]byte{[]byte("abc"), []byte("defg")}))
	a, err := readArchive(file.Bytes())
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"key a": []byte("abc"), "key b": []byte("defg")}, a.images)
	whole := file.Bytes()
	for _, bad := range [][]byte{whole[:len(whole)-1], []byte("no archive"), append([]byte{}, whole[4:]...)} {
		_, err = findTools(none, func() (*archive, error) { return readArchive(bad) })
		require.ErrorContains(t, err, "no compiler here; the kernels compiled beforehand")
	}
	file.Reset()
	require.NoError(t, writeArchive(&file, archiveHead{"13.0", []archiveEntry{{"a", "key a", 30}}}, [][]byte{[]byte("abc")}))
	_, err = readArchive(file.Bytes())
	require.ErrorContains(t, err, "end within a")
}
