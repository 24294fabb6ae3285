//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// rawKernel does nothing.
var rawKernel = gpu.Source{Name: "raw_nothing", Text: "kernel void raw_nothing(device int* a [[buffer(0)]]) {}\n"}

var errNoGraph = errors.New("cuda: the driver builds no graph")

// TimeRaw implements [gpu.RawTimer]: the driver's calls alone, in one session, with the arguments bound before.
func (d *device) TimeRaw(n, repeats int, asGraph bool) ([]time.Duration, error) {
	if err := d.Enter(); err != nil {
		return nil, err
	}
	defer d.Leave()
	if n < 1 || n > graphTo || repeats < 1 {
		return nil, errors.New("cuda: a raw run has 1 to 128 kernels and one repeat or more")
	}
	pipe, err := d.compile(rawKernel)
	if err != nil {
		return nil, err
	}
	defer pipe.Release()
	c := recordings.Begin(d)
	rec, err := c.Take()
	if err != nil {
		return nil, err
	}
	defer rec.GiveBack()
	s, err := d.ctx.begin()
	if err != nil {
		return nil, d.Lose(err.Error())
	}
	defer s.end()
	sl, room, err := d.slots.take(d, s, n+3)
	if err != nil {
		return nil, err
	}
	if room != nil {
		return nil, errors.New("cuda: the device is busy")
	}
	defer d.slots.put(sl)
	q := queue{session: s, dev: d, stream: sl.stream.handle, rec: rec}
	defer q.forget()
	q.nodes = q.nodes[:0]
	for range n {
		q.nodes = append(q.nodes, node{pipe: pipe, code: &pipe.code, x: 1, y: 1, threads: 32, size: 8})
	}
	var g *graph
	if asGraph {
		if err := q.arguments(); err != nil {
			return nil, err
		}
		if g = q.build(); g == nil {
			return nil, errNoGraph
		}
		defer g.destroy(s)
	}
	times := make([]time.Duration, repeats)
	for i := range times {
		start := time.Now()
		st := success
		if g != nil {
			st = s.call(cuGraphLaunch, g.exec, q.stream)
		} else {
			if err := q.stepByStep(); err != nil {
				return nil, err
			}
		}
		if st == success {
			st = s.call(cuStreamWriteValue64, q.stream, sl.at, uintptr(sl.value), 0)
		}
		if st != success {
			return nil, d.judge(st)
		}
		for limit := start.Add(time.Second); sl.word.Load() < sl.value; {
			if time.Now().After(limit) {
				return nil, gpu.ErrTimeout
			}
		}
		times[i] = time.Since(start)
		sl.value++
	}
	return times, nil
}
