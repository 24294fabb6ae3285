package roofline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// Options shape a run; zeros mean the defaults.
type Options struct {
	Rows int           // of the columns: 100,000,000
	Each time.Duration // how long each thing is measured: 200 ms, and three times at least
}

// bench is what the measurements share.
type bench struct {
	ctx    context.Context // the device's
	cpu    context.Context
	dev    *watched
	mem    *memory.Allocator
	rows   int
	each   time.Duration
	report *Report
}

// Run measures a device. It moves all crossovers while it runs.
func Run(ctx context.Context, dev gpu.Device, o Options) (*Report, error) {
	if o.Rows == 0 {
		o.Rows = referenceRows
	}
	if o.Each == 0 {
		o.Each = 200 * time.Millisecond
	}
	info := dev.Info()
	w := &watched{Device: dev}
	mem := memory.New(w)
	b := &bench{dev: w, mem: mem, rows: o.Rows, each: o.Each, report: &Report{
		Device: info.Name, Driver: info.Driver, Rows: o.Rows, Source: referenceSource,
		Machine: fmt.Sprintf("%s/%s, GOMAXPROCS %d, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()),
	}}
	if info.Driver == "emulator" {
		b.report.Warning = "The emulator simulates a GPU on the CPU: these times say nothing about a device."
	}
	b.ctx = compute.WithAllocator(compute.WithDevice(ctx, w), mem)
	b.cpu = compute.WithAllocator(compute.WithDevice(ctx, nil), mem)
	if err := compute.SetCrossover("", 0); err != nil {
		return nil, err
	}
	defer func() { _ = compute.SetCrossover("", -1) }()
	in := newInputs(mem, o.Rows)
	err := errors.Join(b.resident(in), b.host(in))
	in.release()
	if err == nil {
		err = mem.Close()
	}
	if err != nil {
		return nil, err
	}
	return b.report, nil
}

// times runs f until it has been measured long enough, after one run that does not count, and gives the medians of the
// times on the clock and on the device.
func (b *bench) times(f func() error) (wall, device time.Duration, err error) {
	var walls, devices []time.Duration
	var spent time.Duration
	for i := 0; i < 4 || spent < b.each; i++ {
		if err := b.ctx.Err(); err != nil {
			return 0, 0, err
		}
		b.dev.busy()
		start := time.Now()
		if err := f(); err != nil {
			return 0, 0, err
		}
		took := time.Since(start)
		if i == 0 {
			continue
		}
		spent += took
		walls, devices = append(walls, took), append(devices, b.dev.busy())
	}
	slices.Sort(walls)
	slices.Sort(devices)
	return walls[len(walls)/2], devices[len(devices)/2], nil
}

// resident measures the operations over columns on the device.
func (b *bench) resident(in *inputs) error {
	if err := b.copies(in); err != nil {
		return err
	}
	for _, a := range in.all() {
		col, err := compute.ToDevice(b.ctx, a)
		if err != nil {
			return err
		}
		defer col.Release()
	}
	even, odd := in.slices(b.rows, 0), in.slices(b.rows, 1)
	defer even.release()
	defer odd.release()
	for i := range operations {
		o := &operations[i]
		row := Row{Operation: o.name, Bytes: int64(o.bytes * float64(b.rows)), PeerLibrary: o.library}
		if b.rows == referenceRows {
			row.TargetMS, row.PeerMS = o.target, o.peer
		}
		for k, cols := range []*inputs{even, odd} {
			wall, device, err := b.batch(o, cols)
			if err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			if k == 0 {
				row.WallMS, row.DeviceMS = ms(wall), ms(device)
			} else {
				row.OddWallMS, row.OddDeviceMS = ms(wall), ms(device)
			}
		}
		row.work(b.report.CopyTBs)
		b.report.Resident = append(b.report.Resident, row)
	}
	return nil
}

// batch measures a batch of one call whose result the device keeps. Its answer is compared with the CPU's once.
func (b *bench) batch(o *operation, in *inputs) (wall, device time.Duration, err error) {
	once := func(use func(*compute.Column) error) error {
		batch := compute.NewBatch(b.ctx)
		defer batch.Release()
		col := batch.Keep(batch.Call(o.function, o.opts, o.args(in)...))
		defer col.Release()
		if err := batch.Run(); err != nil || use == nil {
			return err
		}
		return use(col)
	}
	err = b.onDevice(o, func() error {
		return once(func(col *compute.Column) error {
			got, err := col.Array(b.ctx)
			if err != nil {
				return err
			}
			defer got.Release()
			return b.compare(o, in, compute.NewDatumWithoutOwning(got))
		})
	})
	if err == nil {
		wall, device, err = b.times(func() error { return once(nil) })
	}
	return wall, device, err
}

// onDevice runs f and fails if not the device but the CPU answered.
func (b *bench) onDevice(o *operation, f func() error) error {
	runs, _ := b.counted(o)
	if err := f(); err != nil {
		return err
	}
	if now, why := b.counted(o); now == runs {
		return fmt.Errorf("%s did not compute it: %s", b.report.Driver, why)
	}
	return nil
}

func (b *bench) counted(o *operation) (runs int64, last string) {
	for _, s := range compute.Stats() {
		if s.Function == o.function && s.Device == b.report.Driver {
			return s.Runs, s.LastFallback
		}
	}
	return 0, "no kernel"
}

// compare compares an answer with the CPU's.
func (b *bench) compare(o *operation, in *inputs, got compute.Datum) error {
	args := datums(o.args(in))
	defer release(args)
	want, err := compute.CallFunction(b.cpu, o.function, o.opts, args...)
	if err != nil {
		return err
	}
	defer want.Release()
	if same(got, want) {
		return nil
	}
	return fmt.Errorf("the answers of %s and the CPU differ", b.report.Driver)
}

// same compares an array, or a scalar that may have been made an array, with an answer without NaNs.
func same(got, want compute.Datum) bool {
	w, isScalar := want.(*compute.ScalarDatum)
	if g, ok := got.(*compute.ScalarDatum); ok {
		return isScalar && scalar.Equals(g.Value, w.Value)
	}
	left := got.(*compute.ArrayDatum).MakeArray()
	defer left.Release()
	if isScalar {
		one, err := scalar.GetScalar(left, 0)
		return err == nil && left.Len() == 1 && scalar.Equals(one, w.Value)
	}
	right := want.(*compute.ArrayDatum).MakeArray()
	defer right.Release()
	return array.Equal(left, right)
}

// host measures the operations over columns that lie on the host, result included, and the CPU.
func (b *bench) host(in *inputs) error {
	foreign := in.copied(arrowmem.NewGoAllocator())
	defer foreign.release()
	own, others := in.slices(b.rows, 0), foreign.slices(b.rows, 0)
	defer own.release()
	defer others.release()
	for i := range operations {
		o := &operations[i]
		row := HostRow{Operation: o.name}
		for _, m := range []struct {
			to   *float64
			ctx  context.Context
			from *inputs
		}{{&row.OwnMS, b.ctx, own}, {&row.ForeignMS, b.ctx, others}, {&row.CPUMS, b.cpu, own}} {
			args := datums(o.args(m.from))
			call := func() error {
				out, err := compute.CallFunction(m.ctx, o.function, o.opts, args...)
				if err == nil {
					out.Release()
				}
				return err
			}
			var wall time.Duration
			err := error(nil)
			if m.ctx == b.ctx {
				err = b.onDevice(o, call)
			}
			if err == nil {
				wall, _, err = b.times(call)
			}
			release(args)
			if err != nil {
				return fmt.Errorf("%s over host memory: %w", o.name, err)
			}
			*m.to = ms(wall)
		}
		b.report.Host = append(b.report.Host, row)
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
