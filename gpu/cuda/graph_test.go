//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// steps multiplies and adds; its second constant may be a buffer.
const steps = `struct Times { uint n, times; };
kernel void steps(device const uint* a [[buffer(0)]], device uint* b [[buffer(1)]], constant Times& t [[buffer(2)]],
    constant uint& plus [[buffer(3)]], constant uint* list [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    if (i < t.n) b[i] = a[i] * t.times + plus + list[1]; }`

// rig is a device with a kernel and memory for recordings of many steps.
type rig struct {
	dev  gpu.Device
	pipe gpu.Pipeline
}

func newRig(t testing.TB, d gpu.Device) *rig {
	t.Helper()
	p, err := d.Compile(gpu.Source{Name: "steps", Text: steps})
	require.NoError(t, err)
	return &rig{d, p}
}

const rigRows = 300

// laneBytes is more than a kernel copies.
const laneBytes = smallCopy + 4*rigRows

// lane is the memory of one recording.
type lane struct {
	in, mid, out, plus, copied gpu.Buffer
}

func (r *rig) lane(t testing.TB) *lane {
	t.Helper()
	l := &lane{}
	for _, b := range []struct {
		at    *gpu.Buffer
		place gpu.Place
	}{{&l.in, gpu.Shared}, {&l.mid, gpu.Private}, {&l.out, gpu.Shared}, {&l.plus, gpu.Shared}, {&l.copied, gpu.Shared}} {
		var err error
		*b.at, err = r.dev.Alloc(laneBytes, b.place)
		require.NoError(t, err)
	}
	return l
}

func (l *lane) release() {
	for _, b := range []gpu.Buffer{l.in, l.mid, l.out, l.plus, l.copied} {
		b.Release()
	}
}

func words(list ...uint32) (out []byte) {
	for _, v := range list {
		out = binary.NativeEndian.AppendUint32(out, v)
	}
	return out
}

// record records copies of every kind and kernels whose arguments are buffers, values, and values behind addresses.
func (r *rig) record(l *lane, n, times, plus, listed uint32) gpu.Commands {
	c := r.dev.Commands()
	groups := (rigRows + 63) / 64
	c.Dispatch(r.pipe, groups, 64, []gpu.Arg{{Buf: l.in}, {Buf: l.mid}, {Bytes: words(n, times)}, {Bytes: words(plus)}, {Bytes: words(9, listed)}})
	c.Barrier()
	c.Dispatch(r.pipe, groups, 64, []gpu.Arg{{Buf: l.mid}, {Buf: l.out}, {Bytes: words(n, 3)}, {Buf: l.plus}, {Buf: l.plus}})
	c.Barrier()
	c.Copy(l.mid, 0, l.out, 0, laneBytes)
	c.Barrier()
	c.Copy(l.copied, 0, l.mid, 0, laneBytes)
	c.Copy(l.mid, 4096, l.out, 0, 12) // by a kernel
	c.Barrier()
	c.Copy(l.in, 4, l.copied, 0, 4*(rigRows-1))
	return c
}

// expect checks what record leaves after rows of numbers from first on.
func (l *lane) expect(first, n, times, plus, listed uint32) error {
	k := binary.NativeEndian.Uint32(l.plus.Host())
	view := func(b gpu.Buffer) []uint32 { return unsafe.Slice((*uint32)(unsafe.Pointer(&b.Host()[0])), rigRows) }
	for i := range n {
		want := ((first+i)*times+plus+listed)*3 + k + binary.NativeEndian.Uint32(l.plus.Host()[4:])
		if got := view(l.copied)[i]; got != want {
			return fmt.Errorf("row %d is %d, not %d", i, got, want)
		}
		if i+1 < rigRows && view(l.in)[i+1] != want {
			return fmt.Errorf("row %d of the last copy is %d, not %d", i, view(l.in)[i+1], want)
		}
	}
	return nil
}

// once runs a recording with its own numbers.
func (r *rig) once(l *lane, rng *rand.Rand) error {
	first, n, times, plus, listed := rng.Uint32(), uint32(1+rng.IntN(rigRows)), rng.Uint32(), rng.Uint32(), rng.Uint32()
	in := unsafe.Slice((*uint32)(unsafe.Pointer(&l.in.Host()[0])), rigRows)
	for i := range in {
		in[i] = first + uint32(i)
	}
	copy(l.plus.Host(), words(rng.Uint32(), rng.Uint32()))
	e, err := r.record(l, n, times, plus, listed).Commit()
	if err != nil {
		return err
	}
	if err := e.Wait(context.Background()); err != nil {
		return err
	}
	return l.expect(first, n, times, plus, listed)
}

// What comes again is launched as a graph, with the arguments of each time, whichever memory it is in.
func TestGraphsGiveTheSame(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	r := newRig(t, d)
	rng := rand.New(rand.NewPCG(1, 2))
	lanes := []*lane{r.lane(t), r.lane(t), r.lane(t)}
	launched := w.call("software_graph_launches")
	for i := range 30 {
		require.NoError(t, r.once(lanes[rng.IntN(len(lanes))], rng), "run %d", i)
		require.EqualValues(t, max(0, i+1-(graphUse-1)), w.call("software_graph_launches")-launched)
	}
	require.Equal(t, 1, w.live("graph exec"))
	for _, l := range lanes {
		l.release()
	}
	r.pipe.Release()
	require.Zero(t, w.live("graph exec"), "a graph outlives its kernel")
	require.NoError(t, d.Close())
}

// Only nodes whose arguments differ are told.
func TestGraphsAreToldDifferences(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	r := newRig(t, d)
	buffers := make([]gpu.Buffer, 4)
	for i := range buffers {
		var err error
		buffers[i], err = d.Alloc(4*rigRows, gpu.Private)
		require.NoError(t, err)
	}
	run := func(last int, times uint32) int {
		before := w.call("software_graph_updates")
		c := d.Commands()
		for i := range 3 {
			to := buffers[(i+1)%3]
			if i == 2 {
				to = buffers[last]
			}
			c.Dispatch(r.pipe, 4, 64, []gpu.Arg{{Buf: buffers[i]}, {Buf: to}, {Bytes: words(200, times)}, {}, {Buf: buffers[0]}})
			c.Barrier()
		}
		e, err := c.Commit()
		require.NoError(t, err)
		require.NoError(t, e.Wait(context.Background()))
		return int(w.call("software_graph_updates") - before)
	}
	for range graphUse + 1 {
		require.Zero(t, run(0, 5))
	}
	require.Equal(t, 1, run(3, 5))
	require.Zero(t, run(3, 5))
	require.Equal(t, 3, run(3, 6))
	require.Equal(t, 1, run(0, 6))
	for _, b := range buffers {
		b.Release()
	}
	r.pipe.Release()
	require.NoError(t, d.Close())
}

// Commits of one shape run beside each other; a graph that runs is left alone (the software stops the test otherwise).
func TestGraphsInFlight(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	r := newRig(t, d)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(3, uint64(i)))
			lanes := []*lane{r.lane(t), r.lane(t), r.lane(t)}
			for round := range 20 {
				var events []gpu.Event
				for k, l := range lanes {
					copy(l.in.Host(), words(7))
					copy(l.plus.Host(), words(uint32(round), 1))
					e, err := r.record(l, 1, uint32(k), 5, 6).Commit()
					if err != nil {
						t.Error(err)
						return
					}
					events = append(events, e)
				}
				for k, l := range lanes {
					if err := errors.Join(events[k].Wait(context.Background()), l.expect(7, 1, uint32(k), 5, 6)); err != nil {
						t.Error(err)
					}
				}
				if err := r.once(lanes[0], rng); err != nil {
					t.Error(err)
				}
			}
			for _, l := range lanes {
				l.release()
			}
		})
	}
	all.Wait()
	require.Positive(t, w.call("software_graph_launches"))
	require.LessOrEqual(t, w.live("graph exec"), maxGraphs)
	require.NoError(t, d.Close())
	require.Zero(t, w.live("graph exec"))
	r.pipe.Release()
}

// A bounded number of shapes is remembered, the least recently used goes.
func TestGraphsAreBounded(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	r := newRig(t, d)
	l := r.lane(t)
	run := func(kernels int) {
		c := d.Commands()
		for range kernels {
			c.Dispatch(r.pipe, 1, 32, []gpu.Arg{{Buf: l.in}, {Buf: l.out}, {Bytes: words(1, 1)}, {}, {Buf: l.plus}})
			c.Barrier()
		}
		e, err := c.Commit()
		require.NoError(t, err)
		require.NoError(t, e.Wait(context.Background()))
	}
	for kernels := graphFrom; kernels < graphFrom+maxShapes+10; kernels++ {
		for range graphUse {
			run(kernels)
		}
		run(graphFrom) // stays in use
	}
	require.Equal(t, maxShapes, w.live("graph exec"))
	launched := w.call("software_graph_launches")
	run(graphFrom)
	run(graphFrom + 1) // was dropped
	run(graphTo + 1)   // too long
	require.EqualValues(t, 1, w.call("software_graph_launches")-launched)
	l.release()
	r.pipe.Release()
	require.NoError(t, d.Close())
}

// Where the driver does not build, change or launch a graph, the work is done without, or fails as a commit does.
func TestGraphFaults(t *testing.T) {
	w := startSoftware(t)
	for _, function := range []string{"cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphAddMemcpyNode", "cuGraphInstantiateWithFlags",
		"cuGraphUpload", "cuGraphExecKernelNodeSetParams_v2", "cuGraphExecMemcpyNodeSetParams", "cuGraphLaunch"} {
		for _, st := range []status{errorOutOfMemory, errorInvalidValue, 700} {
			what := fmt.Sprintf("%s, status %d", function, st)
			w.call("software_reset")
			d := w.device(t)
			r := newRig(t, d)
			lanes := []*lane{r.lane(t), r.lane(t)}
			rng := rand.New(rand.NewPCG(5, 6))
			w.fail(function, 1, st)
			for i := range 8 {
				if err := r.once(lanes[i%2], rng); err != nil {
					require.Equal(t, "cuGraphLaunch", function, "%s: %v", what, err)
					require.True(t, errors.Is(err, gpu.ErrOutOfMemory) || errors.Is(err, gpu.ErrCommand) || errors.Is(err, gpu.ErrDeviceLost), "%s: %v", what, err)
					if errors.Is(err, gpu.ErrDeviceLost) {
						break
					}
				}
			}
			for _, l := range lanes {
				l.release()
			}
			r.pipe.Release()
			require.NoError(t, d.Close(), what)
		}
	}
}

// A launch that is repeated allocates nothing, step by step or as a graph.
func TestRunAllocatesNothing(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	r := newRig(t, d)
	l := r.lane(t)
	defer gpu.SetWaitStrategy(gpu.WaitStrategyInForce())
	gpu.SetWaitStrategy(gpu.WaitEventWord)
	c := d.Commands()
	for _, steps := range []int{1, 4} {
		args := []gpu.Arg{{Buf: l.in}, {Buf: l.mid}, {Bytes: words(rigRows, 3)}, {Bytes: words(5)}, {Buf: l.plus}}
		run := func() {
			for range steps {
				c.Dispatch(r.pipe, 5, 64, args)
				c.Barrier()
			}
			if err := c.(gpu.Runner).Run(context.Background()); err != nil {
				t.Error(err)
			}
		}
		for range 20 {
			run()
		}
		if !raceEnabled {
			require.Zero(t, testing.AllocsPerRun(200, run), "%d steps", steps)
		}
	}
	c.Discard()
	l.release()
	r.pipe.Release()
	require.NoError(t, d.Close())
}

// The raw timer runs what it says, and leaves nothing behind.
func TestTimeRaw(t *testing.T) {
	w := startSoftware(t)
	d := w.device(t)
	for _, asGraph := range []bool{false, true} {
		before := w.call("software_graph_launches")
		times, err := d.(gpu.RawTimer).TimeRaw(10, 5, asGraph)
		require.NoError(t, err)
		require.Len(t, times, 5)
		for _, took := range times {
			require.Positive(t, took)
		}
		require.Equal(t, asGraph, w.call("software_graph_launches") == before+5)
	}
	for _, bad := range [][2]int{{0, 1}, {graphTo + 1, 1}, {1, 0}} {
		_, err := d.(gpu.RawTimer).TimeRaw(bad[0], bad[1], true)
		require.Error(t, err)
	}
	require.NoError(t, work(d))
	require.NoError(t, d.Close())
}

// TestGraphs is what the software's tests are, on a GPU: graphs are built, told and launched by the real driver.
func TestGraphs(t *testing.T) {
	d := open(t)
	if d == nil {
		return
	}
	r := newRig(t, d)
	rng := rand.New(rand.NewPCG(7, 8))
	lanes := []*lane{r.lane(t), r.lane(t), r.lane(t)}
	for i := range 60 {
		require.NoError(t, r.once(lanes[rng.IntN(len(lanes))], rng), "run %d", i)
	}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			l, rng := r.lane(t), rand.New(rand.NewPCG(9, uint64(i)))
			defer l.release()
			for range 50 {
				if err := r.once(l, rng); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	pool := &d.(*device).graphs
	pool.mu.Lock()
	require.Len(t, pool.shapes, 1)
	for _, x := range pool.shapes {
		require.False(t, x.plain, "the driver takes no graph")
		require.NotEmpty(t, x.idle)
		t.Logf("%d graphs of %d nodes", x.graphs, len(x.idle[0].nodes))
	}
	pool.mu.Unlock()
	for _, l := range lanes {
		l.release()
	}
	r.pipe.Release()
	require.NoError(t, d.Close())
}

// BenchmarkGraph is a commit of ten small kernels and its wait: arguments that stay the same, and arguments of which each
// kernel's differ, which the graph is told; the driver's own calls beside it.
func BenchmarkGraph(b *testing.B) {
	d := benchDevice(b)
	r := newRig(b, d)
	defer r.pipe.Release()
	var buffers [2]gpu.Buffer
	for i := range buffers {
		var err error
		buffers[i], err = d.Alloc(4*rigRows, gpu.Private)
		require.NoError(b, err)
		defer buffers[i].Release()
	}
	for _, changes := range []bool{false, true} {
		b.Run(fmt.Sprintf("changes=%v", changes), func(b *testing.B) {
			c := d.Commands()
			n := uint32(0)
			b.ReportAllocs()
			for b.Loop() {
				if changes {
					n++
				}
				for i := range 10 {
					c.Dispatch(r.pipe, 5, 64, []gpu.Arg{{Buf: buffers[i%2]}, {Buf: buffers[1-i%2]}, {Bytes: words(rigRows, 3)}, {Bytes: words(n)}, {Buf: buffers[0]}})
					c.Barrier()
				}
				if err := c.(gpu.Runner).Run(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			c.Discard()
		})
	}
	for _, asGraph := range []bool{true, false} {
		b.Run(fmt.Sprintf("raw/graph=%v", asGraph), func(b *testing.B) {
			for b.Loop() {
				times, err := d.(gpu.RawTimer).TimeRaw(10, 1000, asGraph)
				require.NoError(b, err)
				slices.Sort(times)
				b.ReportMetric(float64(times[500].Nanoseconds())/1e3, "median-us")
			}
		})
	}
}
