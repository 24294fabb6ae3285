package resident

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	_ "github.com/broadhead-go/broadhead/gpu/metal/emulator"
)

func emulator(t *testing.T) gpu.Device {
	t.Helper()
	d, err := gpu.Open("emulator")
	require.NoError(t, err)
	return d
}

// Every form that Metal has runs on the emulator, which shares the CPU's memory, and every doorbell that a form saw was
// rung. On a real Metal device both directions have never been seen to work; if they ever do, it must not go unnoticed.
func TestProbe(t *testing.T) {
	d := emulator(t)
	if real, err := gpu.Open("metal"); err == nil {
		d = real
	}
	r, err := Probe(context.Background(), d, Options{Window: 40 * time.Millisecond, Interval: 2 * time.Millisecond})
	require.NoError(t, err)
	t.Log("\n" + r.String())
	require.Len(t, r.Rows, 10)
	for _, row := range r.Rows {
		require.NoError(t, row.Err, row.Form)
		require.Positive(t, row.Sent, row.Form)
		require.LessOrEqual(t, row.Seen, row.Sent, row.Form)
		require.Positive(t, row.Looks, row.Form)
		require.False(t, row.Clobbered, row.Form)
	}
	if d.Info().Driver == "metal" && r.Works() {
		t.Log("\n*** LOUD NOTE: a running kernel and the CPU see each other's stores on this Metal device. ***\n" +
			"*** Please report it with the table above: a resident worker has become possible.        ***")
	}
	require.Contains(t, r.String(), "volatile coherent(device)")
	if d.Info().Driver == "emulator" {
		require.Contains(t, r.String(), "says nothing about a GPU")
	}
}

func TestProbeVariants(t *testing.T) {
	r, err := Probe(context.Background(), emulator(t), Options{
		Window: 10 * time.Millisecond, Interval: time.Millisecond, Forms: []string{"volatile"}, SameLine: true, Evict: 64 << 10,
	})
	require.NoError(t, err)
	require.Len(t, r.Rows, 1)
	require.Contains(t, r.String(), "on one line, 64 KiB read between two looks")
}

func TestProbeRefuses(t *testing.T) {
	d := emulator(t)
	for _, o := range []Options{
		{Window: -1}, {Window: time.Hour}, {Interval: -1}, {Window: time.Millisecond, Interval: time.Second}, {Evict: -1}, {Evict: 1 << 40},
	} {
		_, err := Probe(context.Background(), d, o)
		require.ErrorContains(t, err, "make no probe", "%+v", o)
	}
	_, err := Probe(context.Background(), d, Options{Forms: []string{"ld.nc"}})
	require.ErrorContains(t, err, `no form "ld.nc"`)
	_, err = WatchdogProbe(context.Background(), d, time.Hour)
	require.ErrorContains(t, err, "at most")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Probe(ctx, d, Options{Window: 5 * time.Millisecond})
	require.ErrorIs(t, err, context.Canceled)
	_, err = WatchdogProbe(ctx, d, 5*time.Millisecond)
	require.ErrorIs(t, err, context.Canceled)
}

// A row works only if both directions do, fast, and nothing is lost.
func TestVerdict(t *testing.T) {
	good := Row{Sent: 10, Seen: 9, Echo: time.Microsecond, Heartbeat: time.Microsecond}
	require.True(t, good.Works())
	for name, spoil := range map[string]func(*Row){
		"seldom seen": func(r *Row) { r.Seen = 8 }, "slow": func(r *Row) { r.Echo = time.Millisecond }, "no echo": func(r *Row) { r.Echo = -1 },
		"no heartbeat": func(r *Row) { r.Heartbeat = -1 }, "clobbered": func(r *Row) { r.Clobbered = true }, "failed": func(r *Row) { r.Err = gpu.ErrCompile },
		"nothing sent": func(r *Row) { r.Sent, r.Seen = 0, 0 },
	} {
		row := good
		spoil(&row)
		require.False(t, row.Works(), name)
		require.False(t, (&Report{Rows: []Row{row}}).Works(), name)
	}
	require.True(t, (&Report{Rows: []Row{{}, good}}).Works())
}

// Where nothing can stay, resident mode is refused and nothing changes.
func TestRefusedMode(t *testing.T) {
	d := emulator(t)
	require.False(t, Available(d))
	require.False(t, SetMode(d, true))
	require.Nil(t, gpu.WorkerOf(d))
	require.False(t, SetMode(d, false))
	require.False(t, Available(nil))
	require.False(t, SetMode(nil, true))
	_, err := NewWorker(d, WorkerOptions{})
	require.ErrorIs(t, err, gpu.ErrUnsupported)
}

func TestFormsNeedTheirDriver(t *testing.T) {
	require.Len(t, Forms("metal"), 10)
	require.Len(t, Forms("cuda"), 20)
	for i := range forms {
		require.Equal(t, strings.Contains(forms[i].text(), "__CUDACC__"), strings.HasPrefix(forms[i].name, "ld") || forms[i].name == "atomicAdd_system of 0", forms[i].name)
	}
}
