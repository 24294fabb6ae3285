//go:build linux && (amd64 || arm64)

package metal_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
)

func TestSelectors(t *testing.T) {
	lib, err := emulator.Lib()
	require.NoError(t, err)
	differences, err := metal.CheckSelectors(metal.Libs{ObjC: lib, Metal: lib})
	require.NoError(t, err)
	require.Empty(t, differences)
}

func TestCompileErrorLine(t *testing.T) {
	text := "one\ntwo\nthree\nfour"
	for _, row := range []struct {
		log    string
		line   int
		source string
	}{
		{"program_source:2:5: error: bad", 2, "two"},
		{"program_source:1:1: warning: odd\nprogram_source:3:9: error: bad\nprogram_source:4:1: error: worse", 3, "three"},
		{"In file program_source:4: note", 4, "four"},
		{"program_source:3:9: fatal error: no", 3, "three"},
		{"program_source:9:1: error: past the end", 9, ""},
		{"the compiler died", 0, ""},
		{"program_source:99999999999999999999:1: error: x", 0, ""},
	} {
		e := metal.CompileError(gpu.Source{Name: "k", Text: text}, row.log)
		require.Equal(t, &gpu.CompileError{Kernel: "k", Log: row.log, Line: row.line, Source: row.source}, e)
	}
}

const seven = `kernel void seven(device uint* a [[buffer(0)]], device uint* b [[buffer(1)]], device uint* c [[buffer(2)]],
    constant uint& k [[buffer(3)]], uint i [[thread_position_in_grid]]) { a[i] = k; b[i] = k; c[i] = k; }
`

// TestCosts counts the messages and allocations of one dispatch.
func TestCosts(t *testing.T) {
	d := open(t)
	defer d.Close()
	p, err := d.Compile(gpu.Source{Name: "seven", Text: "#include <metal_stdlib>\nusing namespace metal;\n" + seven})
	require.NoError(t, err)
	defer p.Release()
	var args []gpu.Arg
	for range 3 {
		b, err := d.Alloc(128, gpu.Shared)
		require.NoError(t, err)
		defer b.Release()
		args = append(args, gpu.Arg{Buf: b})
	}
	args = append(args, gpu.Arg{Bytes: []byte{7, 0, 0, 0}})
	var messages uint64
	op := func() {
		c := d.Commands()
		c.Dispatch(p, 1, 32, args)
		before := emulator.Messages()
		e, err := c.Commit()
		messages = emulator.Messages() - before
		if err != nil {
			t.Error(err)
			return
		}
		for !e.Done() { // a waiter that sleeps allocates a little more
			runtime.Gosched()
		}
	}
	for range 2 * metal.KeptSlots {
		op()
	}
	allocations := testing.AllocsPerRun(200, op)
	t.Logf("%d messages, %v allocations", messages, allocations)
	require.LessOrEqual(t, messages, uint64(12))
	if !raceEnabled {
		require.LessOrEqual(t, allocations, 2.0, "the recording's handle and its event")
	}
}

// BenchmarkRoundTrip is one empty dispatch from its recording to the end of its wait.
func BenchmarkRoundTrip(b *testing.B) {
	for _, low := range []bool{true, false} {
		b.Run(fmt.Sprintf("lowlatency=%v", low), func(b *testing.B) {
			defer gpu.SetLowLatencyWait(gpu.LowLatencyWait())
			gpu.SetLowLatencyWait(low)
			devices, err := emulator.Open()
			require.NoError(b, err)
			d := devices[0]
			defer d.Close()
			p, err := d.Compile(gpu.Source{Name: "none", Text: "kernel void none(device int* a [[buffer(0)]]) {}"})
			require.NoError(b, err)
			defer p.Release()
			buf, err := d.Alloc(64, gpu.Shared)
			require.NoError(b, err)
			defer buf.Release()
			args := []gpu.Arg{{Buf: buf}}
			for b.Loop() {
				c := d.Commands()
				c.Dispatch(p, 1, 32, args)
				e, err := c.Commit()
				if err == nil {
					err = e.Wait(context.Background())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestTimesOfOldCommits asks for times after their slots were used again.
func TestTimesOfOldCommits(t *testing.T) {
	d := open(t)
	defer d.Close()
	buf, err := d.Alloc(64, gpu.Shared)
	require.NoError(t, err)
	defer buf.Release()
	var events []gpu.Event
	for range 2 * metal.KeptSlots {
		c := d.Commands()
		c.Copy(buf, 0, buf, 32, 32)
		e, err := c.Commit()
		require.NoError(t, err)
		require.NoError(t, e.Wait(context.Background()))
		events = append(events, e)
	}
	require.Zero(t, events[0].GPUTime())
	require.NotZero(t, events[len(events)-1].GPUTime())
	require.NoError(t, events[0].Wait(context.Background()))
	require.True(t, events[0].Done())
}

// TestConsecutiveFailuresLoseTheDevice has commands fail without the device saying that it is gone.
func TestConsecutiveFailuresLoseTheDevice(t *testing.T) {
	d := open(t)
	defer d.Close()
	buf, err := d.Alloc(64, gpu.Shared)
	require.NoError(t, err)
	defer buf.Release()
	run := func(fail bool) error {
		if fail {
			emulator.SetOption("fail_command", 1)
		}
		c := d.Commands()
		c.Copy(buf, 0, buf, 32, 32)
		e, err := c.Commit()
		if err != nil {
			return err
		}
		return e.Wait(context.Background())
	}
	for range metal.LostAfter - 1 {
		require.ErrorIs(t, run(true), gpu.ErrCommand)
	}
	require.NoError(t, run(false), "a success forgives")
	for i := range metal.LostAfter {
		err := run(true)
		require.Equal(t, i == metal.LostAfter-1, strings.Contains(fmt.Sprint(err), "device lost"), "failure %d: %v", i, err)
	}
	require.ErrorIs(t, run(false), gpu.ErrDeviceLost)
}

// TestDriverIsRegistered opens the emulator by name.
func TestDriverIsRegistered(t *testing.T) {
	d, err := gpu.Open("emulator")
	require.NoError(t, err)
	again, err := gpu.Open("emulator:0")
	require.NoError(t, err)
	require.Same(t, d, again)
	require.Equal(t, "emulator", d.Info().Driver)
	t.Setenv("BROADHEAD_DEVICE", "emulator")
	def, err := gpu.Default()
	require.NoError(t, err)
	require.Same(t, d, def)
	require.NoError(t, d.Close())
}
