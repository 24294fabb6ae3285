//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
)

// open returns a fresh device, or nil where there is none to test. Then the reason must help.
func open(t testing.TB) gpu.Device {
	t.Helper()
	devices, err := Open()
	if err != nil {
		require.Regexp(t, "driver|GPU|NVRTC|capability|context", err.Error())
		list := gpu.Devices()
		require.Len(t, list, 1)
		require.ErrorIs(t, list[0].Err, gpu.ErrNoDevice)
		_, err = gpu.Open("cuda")
		require.ErrorIs(t, err, gpu.ErrNoDevice)
		t.Logf("no device: %v", err)
		return nil
	}
	for _, d := range devices[1:] {
		require.NoError(t, d.Close())
	}
	return devices[0]
}

func TestConformance(t *testing.T) {
	d := open(t)
	if d == nil {
		return
	}
	t.Logf("%+v, driver for CUDA %s, NVRTC %s", d.Info(), versionText(d.(*device).drv.version), d.(*device).compilerVersion())
	require.NoError(t, d.Close())
	gputest.Run(t, func(t *testing.T) gpu.Device { return open(t) })
}

// TestEveryGPU runs a kernel on each GPU, all of them open at once.
func TestEveryGPU(t *testing.T) {
	devices, err := Open()
	if err != nil {
		return
	}
	var events []gpu.Event
	var outs []gpu.Buffer
	for i, d := range devices {
		p, err := d.Compile(gpu.Source{Name: "mark", Text: `kernel void mark(device uint* a [[buffer(0)]], constant uint& x [[buffer(1)]],
    uint i [[thread_position_in_grid]]) { a[i] = x + i; }`})
		require.NoError(t, err)
		defer p.Release()
		out, err := d.Alloc(4096, gpu.Shared)
		require.NoError(t, err)
		defer out.Release()
		c := d.Commands()
		c.Dispatch(p, 4, 256, []gpu.Arg{{Buf: out}, {Bytes: []byte{byte(i), 0, 0, 0}}})
		e, err := c.Commit()
		require.NoError(t, err)
		events, outs = append(events, e), append(outs, out)
	}
	for i, e := range events {
		require.NoError(t, e.Wait(context.Background()))
		require.EqualValues(t, byte(i+7), outs[i].Host()[28])
	}
	t.Logf("%d GPUs", len(devices))
	for _, d := range devices {
		require.NoError(t, d.Close())
	}
}

// TestBindings binds buffers where the kernel takes a value, values where it takes an address, and nothing.
func TestBindings(t *testing.T) {
	d := open(t)
	if d == nil {
		return
	}
	defer d.Close()
	p, err := d.Compile(gpu.Source{Name: "bind", Text: `struct Pair { uint a, b; };
kernel void bind(device uint* out [[buffer(0)]], constant Pair& pair [[buffer(1)]], device const uint* list [[buffer(2)]],
    constant uint* none [[buffer(9)]], constant uint& zero [[buffer(7)]], uint i [[thread_index_in_threadgroup]]) {
    if (i == 0u) { out[0] = pair.a; out[1] = pair.b; out[2] = list[1]; out[3] = none == nullptr ? 9u : 0u; out[4] = zero; }
}`})
	require.NoError(t, err)
	defer p.Release()
	out, err := d.Alloc(64, gpu.Shared)
	require.NoError(t, err)
	defer out.Release()
	pair, err := d.Alloc(64, gpu.Shared)
	require.NoError(t, err)
	defer pair.Release()
	copy(pair.Host(), []byte{0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0})
	for _, bound := range []gpu.Arg{{Bytes: []byte{5, 0, 0, 0, 6, 0, 0, 0}}, {Buf: pair, Off: 4}} {
		for i := range out.Host() {
			out.Host()[i] = 0xff
		}
		c := d.Commands()
		c.Dispatch(p, 1, 32, []gpu.Arg{{Buf: out}, bound, {Bytes: []byte{1, 0, 0, 0, 7, 0, 0, 0}}})
		e, err := c.Commit()
		require.NoError(t, err)
		require.NoError(t, e.Wait(context.Background()))
		require.Equal(t, []byte{5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, out.Host()[:20])
	}
}

// TestContextIsLeft sees that calls leave the thread's context as it was: here, none.
func TestContextIsLeft(t *testing.T) {
	d := open(t)
	if d == nil {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := d.(*device).drv.bare()
	defer s.endBare()
	s.call(cuCtxPopCurrent, s.result(0)) // what another package may have left
	b, err := d.Alloc(1000, gpu.Private)
	require.NoError(t, err)
	b.Release()
	require.NotEqual(t, success, s.call(cuCtxPopCurrent, s.result(0)), "a context is left on the thread")
	require.NoError(t, d.Close())
}

func TestTouch(t *testing.T) {
	mem := make([]byte, 3*touchShare+5*pageSize+1)
	mem[touchShare] = 7
	touch(mem)
	require.EqualValues(t, 7, mem[touchShare])
	touch(mem[:1])
	require.Positive(t, hostAvailable())
}

func TestCompilerPaths(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "lib", "libnvrtc.so.12")
	require.NoError(t, os.MkdirAll(filepath.Dir(lib), 0o755))
	require.NoError(t, os.WriteFile(lib, nil, 0o644))
	t.Setenv(envNVRTC, "")
	t.Setenv("CUDA_HOME", dir)
	require.Contains(t, compilerPaths(), lib)
	t.Setenv(envNVRTC, "mine.so")
	require.Equal(t, []string{"mine.so"}, compilerPaths())
	_, err := loadFirst([]string{lib, filepath.Join(dir, "none.so")})
	require.ErrorContains(t, err, "libnvrtc.so.12")
}

func TestTarget(t *testing.T) {
	c := &nvrtc{archs: []int32{75, 80, 90}}
	for arch, want := range map[int]string{
		75: "--gpu-architecture=sm_75", 90: "--gpu-architecture=sm_90", 89: "--gpu-architecture=compute_80",
		120: "--gpu-architecture=compute_90", 70: "--gpu-architecture=compute_70",
	} {
		option, cubin := c.target(arch)
		require.Equal(t, want, option)
		require.Equal(t, want[len("--gpu-architecture="):][0] == 's', cubin)
	}
}
