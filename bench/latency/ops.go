package latency

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
	"github.com/broadhead-go/broadhead/msl"
	"github.com/broadhead-go/broadhead/resident"
)

func (n Number) count() string { return strconv.Itoa(int(n)) }

// data is a column, a mask and a scalar.
type data struct {
	column, mask, five compute.Datum
	array              arrow.Array
	free               []func()
}

func (d *data) release() {
	for _, f := range d.free {
		f()
	}
}

// columns makes data of n rows, in the device's memory as well.
func (l *lab) columns(ctx context.Context, n int) *data {
	mem := compute.GetAllocator(ctx)
	ints, bools := array.NewInt64Builder(mem), array.NewBooleanBuilder(mem)
	for i := range n {
		ints.Append(int64(i % 1000))
		bools.Append(i%2 == 0)
	}
	d := &data{}
	a, m := ints.NewArray(), bools.NewArray()
	d.array, d.column, d.mask, d.five = a, compute.NewDatumWithoutOwning(a), compute.NewDatumWithoutOwning(m), compute.NewDatum(int64(5))
	d.free = append(d.free, a.Release, m.Release)
	for _, x := range []arrow.Array{a, m} {
		c, err := compute.ToDevice(ctx, x)
		if l.check(err); err == nil {
			d.free = append(d.free, c.Release)
		}
	}
	return d
}

// call is an operation over data.
type call struct {
	name string
	run  func(ctx context.Context, d *data) error
}

func calling(label, function string, args func(d *data) []compute.Datum) call {
	return call{label, func(ctx context.Context, d *data) error {
		out, err := compute.CallFunction(ctx, function, nil, args(d)...)
		if err == nil {
			out.Release()
		}
		return err
	}}
}

var calls = []call{
	calling("sum", "sum", func(d *data) []compute.Datum { return []compute.Datum{d.column} }),
	calling("compare", "greater", func(d *data) []compute.Datum { return []compute.Datum{d.column, d.five} }),
	calling("filter", "filter", func(d *data) []compute.Datum { return []compute.Datum{d.column, d.mask} }),
	calling("multiply", "multiply", func(d *data) []compute.Datum { return []compute.Datum{d.column, d.five} }),
	calling("add (array)", "add", func(d *data) []compute.Datum { return []compute.Datum{d.column, d.column} }),
	{"10 ops unbatched", func(ctx context.Context, d *data) error {
		x := d.column
		for range 9 {
			out, err := compute.CallFunction(ctx, "add", nil, x, d.five)
			if x != d.column {
				x.Release()
			}
			if err != nil {
				return err
			}
			x = out
		}
		defer x.Release()
		_, err := compute.Sum(ctx, nil, x)
		return err
	}},
	{"10 ops batched", func(ctx context.Context, d *data) error {
		b := compute.NewBatch(ctx)
		defer b.Release()
		x := b.Call("add", nil, d.column, d.five)
		for range 8 {
			x = b.Call("add", nil, x, d.five)
		}
		b.Call("sum", nil, x)
		return b.Run()
	}},
}

// contexts are the ways to run a call.
func (l *lab) contexts() (onDevice, oneCore, allCores context.Context) {
	ctx := compute.WithAllocator(l.ctx, memory.New(l.dev))
	onDevice = compute.WithDevice(ctx, l.dev)
	allCores = compute.WithDevice(ctx, nil)
	exec := compute.DefaultExecCtx()
	exec.NumParallel = 1
	return onDevice, compute.SetExecCtx(allCores, exec), allCores
}

// forced runs f with every call sent to the device that has a kernel for it.
func (l *lab) forced(f func()) {
	l.check(compute.SetCrossover("", 0))
	defer func() { l.check(compute.SetCrossover("", -1)) }()
	f()
}

// operations measures whole calls, their results on the host included.
func (l *lab) operations() {
	t := l.table("Whole calls over columns in the device's memory",
		"Median. Results end on the host. The resident worker takes calls only where it is available and knows the operation.",
		"rows, operation", "device", "resident worker", "1 CPU core", "all CPU cores")
	onDevice, oneCore, allCores := l.contexts()
	for _, n := range l.rows {
		d := l.columns(onDevice, n)
		for _, c := range calls {
			if l.err != nil {
				break
			}
			run := func(ctx context.Context) Number {
				_, median := l.times(max(l.calls/4, 5), func() { l.check(c.run(ctx, d)) })
				return median
			}
			device, worker := missing, missing
			l.forced(func() {
				device = run(onDevice)
				if n <= resident.MaxRows && resident.SetMode(l.dev, true) {
					worker = run(onDevice)
					resident.SetMode(l.dev, false)
				}
			})
			t.add(strconv.Itoa(n)+" "+c.name, device, worker, run(oneCore), run(allCores))
		}
		d.release()
	}
}

// beforeAfter turns the two halves of low latency off and on, interleaved against drift.
func (l *lab) beforeAfter() {
	t := l.table("Before and after", "A sum of 1,000 rows, median of each of three rounds. Before: waiting by blocking, or the kernel's text built for every call as if there were no cache of kernels.",
		"way", "round 1", "round 2", "round 3")
	onDevice, _, _ := l.contexts()
	d := l.columns(onDevice, 1000)
	defer d.release()
	key := msl.Key{Skeleton: msl.Reduce, Op: msl.OpSum, In: msl.I64, Caps: l.dev.Info().Caps}
	ways := []struct {
		name  string
		low   bool
		build bool
	}{{"blocking, text built each time", false, true}, {"blocking", false, false}, {"low latency, text built each time", true, true}, {"low latency (as it is)", true, false}}
	found := make([][]Number, len(ways))
	for range 3 {
		for i, way := range ways {
			gpu.SetLowLatencyWait(way.low)
			l.forced(func() {
				_, median := l.times(l.calls, func() {
					if way.build {
						_, _, err := msl.Text(key)
						l.check(err)
					}
					l.check(calls[0].run(onDevice, d))
				})
				found[i] = append(found[i], median)
			})
		}
	}
	gpu.SetLowLatencyWait(true)
	for i, way := range ways {
		t.add(way.name, found[i]...)
	}
}

// power is what a call costs the CPU.
func (l *lab) power() {
	t := l.table("Power proxy", "A sum of 1,000 rows: CPU time by getrusage.", "configuration", "wall median", "CPU us per call", "CPU per wall")
	onDevice, _, _ := l.contexts()
	d := l.columns(onDevice, 1000)
	defer d.release()
	for _, low := range []bool{true, false} {
		for _, spin := range []int{300, 0} {
			gpu.SetLowLatencyWait(low)
			gpu.SetSpinMicroseconds(spin)
			name := "LowLatencyWait " + map[bool]string{true: "on", false: "off"}[low] + ", SpinMicroseconds " + strconv.Itoa(spin)
			l.forced(func() { l.costs(t, name, func() { l.check(calls[0].run(onDevice, d)) }) })
		}
	}
	gpu.SetLowLatencyWait(true)
	gpu.SetSpinMicroseconds(300)
	if resident.SetMode(l.dev, true) {
		l.forced(func() { l.costs(t, "resident worker", func() { l.check(calls[0].run(onDevice, d)) }) })
		resident.SetMode(l.dev, false)
	}
}
