package gpu

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stub is a device of a driver under test: it opens and closes.
type stub struct {
	Device
	driver string
	closed atomic.Bool
}

func (s *stub) Info() Info   { return Info{Driver: s.driver} }
func (s *stub) Close() error { s.closed.Store(true); return nil }
func (s *stub) Alloc(int, Place) (Buffer, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	return nil, errors.New("a stub has no memory")
}

// registry replaces the registered drivers for a test: a driver has so many devices, or a negative number to fail.
func registry(t *testing.T, devices map[string]int) {
	t.Setenv(envDevice, "")
	drivers.Lock()
	saved := drivers.byName
	drivers.byName = nil
	drivers.Unlock()
	forget := func() { defaultDevice.answer.Store(nil) }
	forget()
	t.Cleanup(func() { drivers.byName = saved; forget() })
	for name, n := range devices {
		Register(name, func() ([]Device, error) {
			if n < 0 {
				return nil, errors.New("no such hardware")
			}
			var list []Device
			for range n {
				list = append(list, &stub{driver: name})
			}
			return list, nil
		})
	}
}

func TestOpen(t *testing.T) {
	registry(t, map[string]int{"cuda": 2, "metal": -1, "empty": 0, "emulator": 1})
	require.Equal(t, []string{"metal", "cuda", "empty", "emulator"}, Drivers())
	first, err := Open("cuda")
	require.NoError(t, err)
	for _, name := range []string{"cuda", "cuda:0"} {
		again, err := Open(name)
		require.NoError(t, err)
		require.Same(t, first, again)
	}
	second, err := Open("cuda:1")
	require.NoError(t, err)
	require.NotSame(t, first, second)

	require.NoError(t, first.Close())
	fresh, err := Open("cuda:0")
	require.NoError(t, err)
	require.NotSame(t, first, fresh)
	same, err := Open("cuda:1")
	require.NoError(t, err)
	require.Same(t, second, same, "a device that is open stays")
	require.False(t, second.(*stub).closed.Load())

	for _, row := range []struct{ name, says string }{
		{"metal", "no such hardware"},
		{"empty", "finds none"},
		{"cuda:2", "the driver has 2"},
		{"vulkan", "linked drivers: metal, cuda"},
		{"", "no device name"},
		{"cuda:x", "no device name"},
		{"cuda:-1", "no device name"},
		{":1", "no device name"},
	} {
		d, err := Open(row.name)
		require.ErrorIs(t, err, ErrNoDevice, row.name)
		require.ErrorContains(t, err, row.says)
		require.Nil(t, d)
	}
}

func TestDevices(t *testing.T) {
	registry(t, map[string]int{"cuda": 2, "metal": -1, "emulator": 1})
	list := Devices()
	require.Len(t, list, 4)
	require.Equal(t, "metal", list[0].Name)
	require.ErrorContains(t, list[0].Err, "no such hardware")
	for i, name := range []string{"cuda:0", "cuda:1", "emulator:0"} {
		c := list[i+1]
		require.NoError(t, c.Err)
		require.Equal(t, name, c.Name)
		require.Equal(t, c.Driver, c.Info.Driver)
	}
}

func TestDefault(t *testing.T) {
	for _, row := range []struct {
		env     string
		drivers map[string]int
		want    string // driver, or what the error says
	}{
		{"", map[string]int{"cuda": 1, "metal": 1, "emulator": 1}, "metal"},
		{"", map[string]int{"cuda": 1, "metal": -1}, "cuda"},
		{"", map[string]int{"another": 1, "emulator": 1}, "another"},
		{"", map[string]int{"emulator": 1}, "no driver of a real device is linked"},
		{"", map[string]int{"cuda": -1}, "no such hardware"},
		{"", nil, "linked drivers: none"},
		{"cpu", map[string]int{"cuda": 1}, "BROADHEAD_DEVICE=cpu"},
		{" CUDA ", map[string]int{"cuda": 1, "metal": 1}, "cuda"},
		{"cuda:0", map[string]int{"cuda": 1}, "cuda"},
		{"emulator", map[string]int{"emulator": 1, "metal": 1}, "emulator"},
		{"metal", map[string]int{"cuda": 1}, "not linked"},
		{"gpu please", map[string]int{"cuda": 1}, "BROADHEAD_DEVICE=gpu please"},
	} {
		registry(t, row.drivers)
		t.Setenv(envDevice, row.env)
		d, err := Default()
		again, errAgain := Default()
		require.Equal(t, err, errAgain)
		if err != nil {
			require.ErrorIs(t, err, ErrNoDevice)
			require.ErrorContains(t, err, row.want, row.env)
			require.Nil(t, d)
			continue
		}
		require.Same(t, d, again)
		require.Equal(t, row.want, d.Info().Driver)
		require.NoError(t, d.Close())
		reopened, err := Default()
		require.NoError(t, err)
		require.NotSame(t, d, reopened)
	}
}

func TestRegisterMistakesPanic(t *testing.T) {
	registry(t, map[string]int{"cuda": 1})
	require.Panics(t, func() { Register("cuda", func() ([]Device, error) { return nil, nil }) })
	require.Panics(t, func() { Register("other", nil) })
}

func TestEnvValues(t *testing.T) {
	before := len(EnvErrors())
	for _, row := range []struct {
		text string
		want bool
		bad  bool
	}{{"", true, false}, {"0", false, false}, {"Off", false, false}, {"1", true, false}, {"maybe", true, true}} {
		t.Setenv(envLowLatency, row.text)
		was := len(EnvErrors())
		require.Equal(t, row.want, envValue(envLowLatency, true, parseSwitch))
		require.Equal(t, row.bad, len(EnvErrors()) > was)
	}
	for _, row := range []struct {
		text string
		want int64
	}{{"", 300}, {"0", 0}, {" 25 ", 25}, {"-1", 300}, {"1000001", 300}, {"1e3", 300}, {"x", 300}} {
		t.Setenv(envSpin, row.text)
		require.Equal(t, row.want, envValue(envSpin, 300, parseSpin), row.text)
	}
	for _, row := range []struct {
		text string
		want time.Duration
	}{{"", time.Minute}, {"0", 0}, {"1m30s", 90 * time.Second}, {"-1s", time.Minute}, {"30", time.Minute}} {
		t.Setenv(envTimeout, row.text)
		require.Equal(t, row.want, envValue(envTimeout, time.Minute, parseTimeout), row.text)
	}
	errs := EnvErrors()[before:]
	require.Len(t, errs, 7)
	for _, err := range errs {
		require.True(t, strings.Contains(err.Error(), "BROADHEAD_") && strings.Contains(err.Error(), "want"), err)
	}
}

// TestCompileErrorText pins the error texts that users read.
func TestErrorTexts(t *testing.T) {
	err := error(&CompileError{Kernel: "k", Log: " bad \n", Line: 3, Source: "  x = y;"})
	require.ErrorIs(t, err, ErrCompile)
	require.Equal(t, "gpu: kernel does not compile: k line 3 `x = y;`: bad", err.Error())
	err = &CommandError{Log: "page fault"}
	require.ErrorIs(t, err, ErrCommand)
	require.Equal(t, "gpu: command failed: page fault", err.Error())
	require.True(t, transient(context.Canceled))
	require.False(t, transient(nil))
}
