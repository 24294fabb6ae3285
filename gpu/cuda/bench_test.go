//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// rows is the length of the columns that are measured.
const rows = 100_000_000

// BenchmarkRoundTrip is one empty dispatch from its recording to the end of its wait.
func BenchmarkRoundTrip(b *testing.B) {
	d := benchDevice(b)
	p, err := d.Compile(gpu.Source{Name: "none", Text: "kernel void none(device int* a [[buffer(0)]]) {}"})
	require.NoError(b, err)
	defer p.Release()
	buf, err := d.Alloc(64, gpu.Shared)
	require.NoError(b, err)
	defer buf.Release()
	args := []gpu.Arg{{Buf: buf}}
	var times []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		c := d.Commands()
		c.Dispatch(p, 1, 32, args)
		e, err := c.Commit()
		if err == nil {
			err = e.Wait(context.Background())
		}
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	for _, q := range []struct {
		name string
		at   int
	}{{"min-us", 0}, {"median-us", len(times) / 2}, {"p99-us", len(times) * 99 / 100}} {
		b.ReportMetric(float64(times[q.at].Nanoseconds())/1000, q.name)
	}
}

func benchDevice(b *testing.B) gpu.Device {
	b.Helper()
	d := open(b)
	if d == nil {
		b.Skip("no device")
	}
	b.Cleanup(func() { d.Close() })
	return d
}

// BenchmarkSum is the reduction of package msl over int64 in the device's memory and in the host's. Times are the
// device's own.
func BenchmarkSum(b *testing.B) {
	for _, place := range []struct {
		name string
		gpu.Place
	}{{"private", gpu.Private}, {"shared", gpu.Shared}} {
		b.Run(place.name, func(b *testing.B) {
			d := benchDevice(b)
			key := msl.Key{Skeleton: msl.Reduce, Op: msl.OpSum, In: msl.I64, Caps: d.Info().Caps}
			name, text, err := msl.Text(key)
			require.NoError(b, err)
			p, err := d.Compile(gpu.Source{Name: name, Text: text})
			require.NoError(b, err)
			defer p.Release()
			words := msl.StateWords(key)
			in := filled(b, d, place.Place)
			defer in.Release()
			partials, err := d.Alloc(8*words*msl.MaxGroups, gpu.Shared)
			require.NoError(b, err)
			defer partials.Release()
			params, err := binary.Append(nil, binary.LittleEndian, msl.ReduceParams{N: rows, Groups: msl.MaxGroups})
			require.NoError(b, err)
			args := make([]gpu.Arg, msl.ReduceBindings)
			args[msl.ReduceIn], args[msl.ReducePartials], args[msl.ReduceArgs] = gpu.Arg{Buf: in}, gpu.Arg{Buf: partials}, gpu.Arg{Bytes: params}
			report(b, 8*rows, func() gpu.Event {
				c := d.Commands()
				c.Dispatch(p, msl.MaxGroups, msl.Threads, args)
				return commit(b, c)
			})
			states := unsafe.Slice((*uint64)(unsafe.Pointer(&partials.Host()[0])), words*msl.MaxGroups)
			sum := uint64(0)
			for g := range msl.MaxGroups {
				sum += states[g*words+msl.StateFirst]
			}
			require.EqualValues(b, rows/2*(rows-1), sum)
		})
	}
}

// castOps are casts of int64 that hold what filled makes.
var castOps = []struct {
	op   string
	to   msl.Type
	expr msl.Expr
}{{msl.OpCast, msl.F32, msl.Expr{Value: "cast_wrap(a)"}}, {"cast_checked", msl.I32, msl.Expr{Value: "cast_checked(a, bad)", Fails: true}}}

// BenchmarkCast casts a column of int64 in the device's memory to 32 bits, without and with checks. Times are the
// device's own.
func BenchmarkCast(b *testing.B) {
	for _, e := range castOps {
		b.Run(e.op, func(b *testing.B) {
			d := benchDevice(b)
			name, text, err := msl.Text(msl.Key{Skeleton: msl.Map, Op: e.op, In: msl.I64, Out: e.to, Caps: d.Info().Caps})
			require.NoError(b, err)
			p, err := d.Compile(gpu.Source{Name: name, Text: text})
			require.NoError(b, err)
			defer p.Release()
			in := filled(b, d, gpu.Private)
			defer in.Release()
			out, err := d.Alloc(4*rows, gpu.Private)
			require.NoError(b, err)
			defer out.Release()
			word, err := d.Alloc(16, gpu.Shared)
			require.NoError(b, err)
			defer word.Release()
			params, err := binary.Append(nil, binary.LittleEndian, msl.MapParams{N: rows, AStride: 1})
			require.NoError(b, err)
			args := make([]gpu.Arg, msl.MapArgs+1)
			args[msl.MapA], args[msl.MapOut], args[msl.MapArgs] = gpu.Arg{Buf: in}, gpu.Arg{Buf: out}, gpu.Arg{Bytes: params}
			if e.expr.Fails {
				args[msl.MapErr] = gpu.Arg{Buf: word}
			}
			report(b, 12*rows, func() gpu.Event {
				c := d.Commands()
				c.Dispatch(p, (rows+msl.MapRows-1)/msl.MapRows, msl.Threads, args)
				return commit(b, c)
			})
		})
	}
}

// filled is a column of the numbers from 0 on.
func filled(b *testing.B, d gpu.Device, place gpu.Place) gpu.Buffer {
	b.Helper()
	p, err := d.Compile(gpu.Source{Name: "count", Text: `kernel void count(device ulong* a [[buffer(0)]], constant ulong& n [[buffer(1)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = ((ulong)tg.y * 65536ul + (ulong)tg.x) * 256ul + (ulong)tid;
    if (i < n) a[i] = i;
}`})
	require.NoError(b, err)
	defer p.Release()
	buf, err := d.Alloc(8*rows, place)
	require.NoError(b, err)
	c := d.Commands()
	c.Dispatch(p, (rows+255)/256, 256, []gpu.Arg{{Buf: buf}, {Bytes: binary.LittleEndian.AppendUint64(nil, rows)}})
	require.NoError(b, commit(b, c).Wait(context.Background()))
	return buf
}

func commit(b *testing.B, c gpu.Commands) gpu.Event {
	e, err := c.Commit()
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// report measures the device's time of a commit that moves n bytes, the median of its runs.
func report(b *testing.B, n int, run func() gpu.Event) {
	b.Helper()
	var times []time.Duration
	for b.Loop() {
		e := run()
		if err := e.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
		times = append(times, e.GPUTime())
	}
	slices.Sort(times)
	median := times[len(times)/2]
	b.ReportMetric(float64(median.Nanoseconds())/1e6, "gpu-ms")
	b.ReportMetric(float64(n)/float64(median.Nanoseconds()), "GB/s")
}

// BenchmarkCopy counts the bytes copied once, also where they are read and written in one memory.
func BenchmarkCopy(b *testing.B) {
	const n = 1 << 30
	for _, way := range []struct {
		name     string
		dst, src gpu.Place
	}{{"upload", gpu.Private, gpu.Shared}, {"download", gpu.Shared, gpu.Private}, {"device", gpu.Private, gpu.Private},
		{"host", gpu.Shared, gpu.Shared}} {
		b.Run(way.name, func(b *testing.B) {
			d := benchDevice(b)
			dst, err := d.Alloc(n, way.dst)
			require.NoError(b, err)
			defer dst.Release()
			src, err := d.Alloc(n, way.src)
			require.NoError(b, err)
			defer src.Release()
			report(b, n, func() gpu.Event {
				c := d.Commands()
				c.Copy(dst, 0, src, 0, n)
				return commit(b, c)
			})
		})
	}
}

// BenchmarkAlloc allocates and releases.
func BenchmarkAlloc(b *testing.B) {
	for _, row := range []struct {
		name  string
		place gpu.Place
		n     int
	}{{"shared 4KiB", gpu.Shared, 4 << 10}, {"shared 1GiB", gpu.Shared, 1 << 30}, {"private 4KiB", gpu.Private, 4 << 10},
		{"private 1GiB", gpu.Private, 1 << 30}} {
		b.Run(row.name, func(b *testing.B) {
			d := benchDevice(b)
			for b.Loop() {
				buf, err := d.Alloc(row.n, row.place)
				require.NoError(b, err)
				buf.Release()
			}
		})
	}
}

// BenchmarkCompile compiles a kernel of package msl.
func BenchmarkCompile(b *testing.B) {
	d := benchDevice(b)
	name, text, err := msl.Text(msl.Key{Skeleton: msl.Reduce, Op: msl.OpSum, In: msl.I64, Flags: msl.ANulls})
	require.NoError(b, err)
	for b.Loop() {
		p, err := d.Compile(gpu.Source{Name: name, Text: text})
		require.NoError(b, err)
		p.Release()
	}
}
