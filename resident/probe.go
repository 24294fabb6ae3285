package resident

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
)

// Options shape a probe; zeros mean the defaults.
type Options struct {
	Window   time.Duration // how long each kernel runs: 250 ms
	Interval time.Duration // between two doorbells: 5 ms
	Forms    []string      // names of Row.Form to probe; none: all that the device's language has
	SameLine bool          // doorbell and heartbeat share a line, which shows whether one clobbers the other
	Evict    int           // bytes that the kernel reads between two looks, to drive what is cached out: 0
}

const (
	defaultWindow   = 250 * time.Millisecond
	defaultInterval = 5 * time.Millisecond
	maxWindow       = 10 * time.Minute
	probeThreads    = 32
	lineWords       = 32 // 128 bytes
	lastDoorbell    = ^uint32(0)
	maxLooks        = 1<<32 - 2
)

// Row is what one form did.
type Row struct {
	Form      string
	Sent      int           // doorbells that the CPU rang
	Seen      int           // of those the kernel saw
	FirstSeen time.Duration // from the first doorbell that was rung to the first that was seen, by the kernel's looks; -1: never
	Echo      time.Duration // median of store, kernel, store, load; -1: no echo came in time
	Heartbeat time.Duration // from the kernel's start, as the CPU knows it, to the first heartbeat it saw; -1: never while it ran
	Looks     int           // that the kernel took
	Ran       time.Duration // how long the kernel ran
	Clobbered bool          // the doorbell's word was not what the CPU stored last, when the kernel had ended
	Err       error         // why there is no answer, such as a form that the compiler does not know
}

// Report is a probe's result.
type Report struct {
	Device  gpu.Info
	Options Options
	Rows    []Row
}

// usefulEcho is how fast an echo must be for a worker to be worth having: a submission takes tens of microseconds.
const usefulEcho = 20 * time.Microsecond

// Works says whether running kernels and the CPU see each other's stores by this form, all of them and in useful time.
func (r *Row) Works() bool {
	return r.Err == nil && r.Sent > 0 && r.Seen >= r.Sent-1 && r.Echo >= 0 && r.Echo < usefulEcho && r.Heartbeat >= 0 && !r.Clobbered
}

// Works says whether any form does.
func (r *Report) Works() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Works() })
}

// Forms lists the names of the forms of a driver's language.
func Forms(driver string) []string {
	var names []string
	for i := range forms {
		if forms[i].only == "" || forms[i].only == driver {
			names = append(names, forms[i].name)
		}
	}
	return names
}

// Probe measures whether a running kernel sees the CPU's stores, and the CPU the kernel's. The two directions are measured
// apart: the kernel logs the doorbells it sees, and the log is read when it has ended; its heartbeat is sampled while it
// runs. Every kernel is bounded by a number of looks. A form that fails has its error in its row; Probe's own error is
// ctx's, or the device's when it gives no memory or is lost.
func Probe(ctx context.Context, d gpu.Device, o Options) (Report, error) {
	r := Report{Device: d.Info()}
	if o.Window == 0 {
		o.Window = defaultWindow
	}
	if o.Interval == 0 {
		o.Interval = defaultInterval
	}
	if o.Window < 0 || o.Window > maxWindow || o.Interval <= 0 || o.Interval > o.Window || o.Evict < 0 || o.Evict > 1<<30 {
		return r, fmt.Errorf("resident: a window of %v (at most %v), an interval of %v or %d bytes to evict make no probe", o.Window, maxWindow, o.Interval, o.Evict)
	}
	known := Forms(r.Device.Driver)
	for _, name := range o.Forms {
		if !slices.Contains(known, name) {
			return r, fmt.Errorf("resident: no form %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	r.Options = o
	defer allow(o.Window)()
	for i := range forms {
		f := &forms[i]
		if !slices.Contains(known, f.name) || o.Forms != nil && !slices.Contains(o.Forms, f.name) {
			continue
		}
		p := probe{ctx: ctx, dev: d, o: &o, row: Row{Form: f.name, FirstSeen: -1, Echo: -1, Heartbeat: -1}}
		p.row.Err = p.run(f)
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if errors.Is(p.row.Err, gpu.ErrDeviceLost) || errors.Is(p.row.Err, gpu.ErrClosed) || errors.Is(p.row.Err, gpu.ErrOutOfMemory) {
			return r, p.row.Err
		}
		r.Rows = append(r.Rows, p.row)
	}
	return r, nil
}

// allow lets kernels run for so long without their device counting as lost; what it returns takes that back.
func allow(d time.Duration) func() {
	limit := gpu.CommandTimeout()
	if limit == 0 || limit >= 4*d {
		return func() {}
	}
	gpu.SetCommandTimeout(4 * d)
	return func() { gpu.SetCommandTimeout(limit) }
}

// probe is one form under way.
type probe struct {
	ctx  context.Context
	dev  gpu.Device
	o    *Options
	row  Row
	pipe gpu.Pipeline

	mail, log, memory gpu.Buffer
	doorbell          *atomic.Uint32
	heartbeat, echo   *atomic.Uint32
}

// probeParams is the kernel's.
type probeParams struct{ Looks, Last, Heartbeat, Room, Sweep uint32 }

// run probes a form.
func (p *probe) run(f *form) error {
	return p.prepare(f, func(params probeParams, ran time.Duration) error {
		// The kernel ends when it sees the last doorbell; one that does not, a quarter after the window.
		want := float64(params.Looks) * float64(p.o.Window+p.o.Window/4) / float64(ran)
		params.Looks = uint32(min(max(want, 64), maxLooks))
		return p.watch(params)
	})
}

// prepare compiles a form's kernel, gives it memory, finds out how many looks it takes in what time, and calls then.
func (p *probe) prepare(f *form, then func(params probeParams, ran time.Duration) error) (err error) {
	if p.pipe, err = p.dev.Compile(gpu.Source{Name: "probe", Text: f.text()}); err != nil {
		return err
	}
	defer p.pipe.Release()
	spacing := lineWords
	if p.o.SameLine {
		spacing = 1
	}
	params := probeParams{Last: lastDoorbell, Heartbeat: uint32(spacing), Room: uint32(p.o.Window/p.o.Interval) + 2, Sweep: uint32(p.o.Evict / 4)}
	for _, b := range []struct {
		to *gpu.Buffer
		n  int
	}{{&p.mail, 4 * lineWords * 4}, {&p.log, 4 * (4 + int(params.Room))}, {&p.memory, max(p.o.Evict, 4*lineWords)}} {
		if *b.to, err = p.dev.Alloc(b.n, gpu.Shared); err != nil {
			return err
		}
		defer (*b.to).Release()
		clear((*b.to).Host())
	}
	mail := p.mail.Host()
	p.doorbell, p.heartbeat, p.echo = word(mail, 0), word(mail, spacing), word(mail, 2*spacing)
	for params.Looks = 64; ; params.Looks *= 4 {
		ran, err := p.spin(params)
		if err != nil {
			return err
		}
		if ran > 20*time.Millisecond || params.Looks >= 1<<24 {
			clear(mail)
			clear(p.log.Host())
			return then(params, ran)
		}
	}
}

func word(b []byte, i int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&b[4*i])) }

func (p *probe) commit(params *probeParams) (gpu.Event, error) {
	c := p.dev.Commands()
	c.Dispatch(p.pipe, 1, probeThreads, []gpu.Arg{{Buf: p.mail}, {Buf: p.log}, {Buf: p.memory},
		{Bytes: unsafe.Slice((*byte)(unsafe.Pointer(params)), unsafe.Sizeof(*params))}})
	return c.Commit()
}

// spin runs the kernel with nobody at the doorbell.
func (p *probe) spin(params probeParams) (time.Duration, error) {
	start := time.Now()
	e, err := p.commit(&params)
	if err == nil {
		err = e.Wait(p.ctx)
	}
	return time.Since(start), err
}

// watch rings the doorbell while the kernel runs, samples its heartbeat, and reads its log in the end.
func (p *probe) watch(params probeParams) error {
	start := time.Now()
	e, err := p.commit(&params)
	if err != nil {
		return err
	}
	var echoes []time.Duration
	rung := make([]time.Time, 0, params.Room)
	last := uint32(0)
	for time.Since(start) < p.o.Window && !e.Done() && p.ctx.Err() == nil && len(rung) < int(params.Room)-1 {
		next := time.Now().Add(p.o.Interval)
		last++
		p.doorbell.Store(last)
		stored := time.Now()
		rung = append(rung, stored)
		for time.Now().Before(next) {
			if p.row.Heartbeat < 0 && p.heartbeat.Load() != 0 {
				p.row.Heartbeat = time.Since(start)
			}
			if p.echo.Load() == last {
				echoes = append(echoes, time.Since(stored))
				break
			}
		}
		for p.row.Heartbeat < 0 && time.Now().Before(next) {
			if p.heartbeat.Load() != 0 {
				p.row.Heartbeat = time.Since(start)
			}
		}
		if rest := time.Until(next); rest > 0 {
			time.Sleep(rest)
		}
	}
	p.doorbell.Store(lastDoorbell)
	err = e.Wait(context.WithoutCancel(p.ctx)) // the kernel writes to memory of ours until it has ended
	p.row.Ran = time.Since(start)
	if err != nil {
		return err
	}
	p.row.Clobbered = p.doorbell.Load() != lastDoorbell
	log := p.log.Host()
	p.row.Sent = len(rung)
	for i := range min(int(word(log, 0).Load()), int(params.Room)) {
		if v := word(log, 4+i).Load(); v != lastDoorbell {
			p.row.Seen++
		}
	}
	p.row.Looks = int(word(log, 2).Load())
	if p.row.Seen > 0 && p.row.Looks > 0 {
		at := time.Duration(float64(p.row.Ran) * float64(word(log, 1).Load()) / float64(p.row.Looks))
		p.row.FirstSeen = max(start.Add(at).Sub(rung[0]), 0)
	}
	if len(echoes) > 0 {
		slices.Sort(echoes)
		p.row.Echo = echoes[len(echoes)/2]
	}
	return nil
}
