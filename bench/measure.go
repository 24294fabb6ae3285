package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/broadhead-go/broadhead/memory"
)

// sampleTime is how long a sample lasts at least: short calls are repeated within one.
const sampleTime = 10 * time.Millisecond

// series is one function, measured at growing numbers of rows.
type series struct {
	work   *workload
	points []point
	noGPU  string // why the device has no times, where it should
}

// point is the time of one call. gpu is 0 where it was not measured.
type point struct {
	rows     int
	cpu, gpu time.Duration
}

// sizes are 1, 2 and 5 times the powers of ten from rowsMin, and most.
func sizes(most int) (list []int) {
	for decade := rowsMin; decade < most; decade *= 10 {
		for _, n := range []int{decade, 2 * decade, 5 * decade} {
			if n < most {
				list = append(list, n)
			}
		}
	}
	return append(list, most)
}

// measure times every function at every size, and shows how far it is.
func (q *request) measure(ctx context.Context, progress io.Writer) (all []series, err error) {
	mem := memory.New(q.dev)
	defer func() { err = errors.Join(err, mem.Close()) }()
	steps := sizes(q.rowsMax)
	var at atomic.Pointer[string]
	at.Store(new(string))
	bars := mpb.New(mpb.WithOutput(progress), mpb.WithWidth(40))
	bar := bars.AddBar(int64(len(steps)*len(q.workloads)),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return *at.Load() + " " })),
		mpb.AppendDecorators(decor.CountersNoUnit("%d of %d"), decor.Elapsed(decor.ET_STYLE_MMSS, decor.WCSyncSpace)),
		mpb.BarRemoveOnComplete(),
	)
	defer bars.Wait()
	defer bar.Abort(true)
	for _, w := range q.workloads {
		s := series{work: w}
		for _, rows := range steps {
			now := fmt.Sprintf("%s of %s", w.function, plural(rows, "row"))
			at.Store(&now)
			if err := q.point(ctx, mem, &s, rows); err != nil {
				return nil, fmt.Errorf("%s: %w", now, err)
			}
			bar.Increment()
		}
		all = append(all, s)
	}
	return all, nil
}

// point measures one size of a series. CPU and device take turns, so that what disturbs one disturbs both.
func (q *request) point(ctx context.Context, mem *memory.Allocator, s *series, rows int) error {
	w := s.work
	from := arrowmem.Allocator(mem)
	if q.foreign {
		from = arrowmem.DefaultAllocator
	}
	c, err := w.columns(from, q.typ, rows, 0)
	if err != nil {
		return err
	}
	defer c.release()
	cpu, err := w.ours(mem, nil)
	if err != nil {
		return err
	}
	runs := []*timer{{call: cpu}}
	if q.dev != nil && s.noGPU == "" {
		device, err := w.ours(mem, q.dev)
		if err != nil {
			return err
		}
		want, err := cpu(ctx, c)
		if err != nil {
			return err
		}
		err = w.agree(ctx, mem, q.dev, c, want)
		want.Release()
		if err != nil {
			s.noGPU = err.Error()
		} else {
			runs = append(runs, &timer{call: device})
		}
	}
	a := answered{}
	if len(runs) > 1 {
		a = watch(w.function, q.dev)
	}
	if err := takeTurns(ctx, runs, c, q.repeat); err != nil {
		return err
	}
	p := point{rows: rows, cpu: runs[0].median()}
	if len(runs) > 1 {
		if err := a.err(); err != nil {
			s.noGPU = err.Error()
		} else {
			p.gpu = runs[1].median()
		}
	}
	s.points = append(s.points, p)
	return nil
}

// timer collects samples of one call.
type timer struct {
	call    caller
	batch   int // calls in a sample
	samples []time.Duration
}

func takeTurns(ctx context.Context, runs []*timer, c *columns, repeat int) error {
	for _, t := range runs {
		if err := t.warmUp(ctx, c); err != nil {
			return err
		}
	}
	for range repeat {
		for _, t := range runs {
			if err := t.sample(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// warmUp calls until memory and kernels are ready, and finds how many calls make a sample.
func (t *timer) warmUp(ctx context.Context, c *columns) error {
	t.batch = 1
	if err := t.sample(ctx, c); err != nil {
		return err
	}
	if err := t.sample(ctx, c); err != nil {
		return err
	}
	t.batch = int(sampleTime/max(t.samples[1], 1)) + 1
	t.samples = t.samples[:0]
	return nil
}

func (t *timer) sample(ctx context.Context, c *columns) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	start := time.Now()
	for range t.batch {
		if err := once(ctx, t.call, c); err != nil {
			return err
		}
	}
	t.samples = append(t.samples, time.Since(start)/time.Duration(t.batch))
	return nil
}

// median is not 0, so that it can be plotted and divided by.
func (t *timer) median() time.Duration {
	slices.Sort(t.samples)
	n := len(t.samples)
	return max(1, (t.samples[(n-1)/2]+t.samples[n/2])/2)
}
