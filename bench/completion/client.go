//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"
)

// stamps are those of one request, by the system's clock.
type stamps struct {
	arrival, submit, dispatch, start, end, observed, unpacked, delivered, received time.Duration
	right                                                                          bool
	err                                                                            error
}

// gpuClient sends requests to the GPU, one client for one device: a dispatcher commits, waits, reads the answer and
// delivers it, as the engine does for a call.
type gpuClient struct {
	server *server
	due    []time.Duration // open loop: when each request arrives; nil: the next one follows the last answer
	stop   atomic.Bool
	rows   []stamps
}

// run returns when stop is set and the last answer is there.
func (c *gpuClient) run() {
	jobs, answers := make(chan stamps, 1<<16), make(chan stamps, 1)
	var dispatcher sync.WaitGroup
	dispatcher.Go(func() {
		for s := range jobs {
			answers <- c.serve(s)
		}
		close(answers)
	})
	if c.due == nil {
		for !c.stop.Load() {
			at := now()
			jobs <- stamps{arrival: at, submit: at}
			c.receive(<-answers)
		}
		close(jobs)
		dispatcher.Wait()
		return
	}
	var receiver sync.WaitGroup
	receiver.Go(func() {
		for s := range answers {
			c.receive(s)
		}
	})
	for _, at := range c.due {
		sleepUntil(at)
		if c.stop.Load() {
			break
		}
		jobs <- stamps{arrival: at, submit: now()}
	}
	close(jobs)
	dispatcher.Wait()
	receiver.Wait()
}

func (c *gpuClient) receive(s stamps) {
	s.received = now()
	c.rows = append(c.rows, s)
}

// serve does one request.
func (c *gpuClient) serve(s stamps) stamps {
	s.dispatch = now()
	e, err := c.server.commit(c.server.work)
	if err == nil {
		region := trace.StartRegion(context.Background(), waitRegion)
		err = e.Wait(context.Background())
		s.observed = now()
		region.End()
	}
	if s.err = err; err != nil {
		s.delivered = now()
		return s
	}
	r := c.server.unpack(e)
	s.start, s.end, s.right = r.start, r.end, r.right
	s.unpacked = now()
	s.delivered = now()
	return s
}

// columns are the rows that arrived in the measured span, in microseconds after its start; wrong answers and failures are
// counted outside it too.
func columns(rows []stamps, from, to time.Duration, gpu bool) *requests {
	r := new(requests)
	for _, s := range rows {
		switch {
		case s.err != nil:
			r.Failures++
			continue
		case !s.right:
			r.Mismatches++
		}
		if s.arrival < from || s.arrival >= to {
			continue
		}
		add := func(column *[]int64, at time.Duration) {
			*column = append(*column, (at - from).Round(time.Microsecond).Microseconds())
		}
		add(&r.Submit, s.submit)
		add(&r.Start, s.start)
		add(&r.End, s.end)
		add(&r.Received, s.received)
		if gpu {
			add(&r.Arrival, s.arrival)
			add(&r.Dispatch, s.dispatch)
			add(&r.Observed, s.observed)
			add(&r.Unpacked, s.unpacked)
			add(&r.Delivered, s.delivered)
		}
	}
	return r
}

// schedule is a Poisson process of the given rate over a span, the same for the same seed, and its hash: the arrivals in
// nanoseconds after its start.
func schedule(rate float64, span time.Duration, seed uint64) (due []time.Duration, hash string) {
	random, sum := rand.New(rand.NewPCG(seed, 2)), sha256.New()
	for at := 0.0; ; {
		at += random.ExpFloat64() / rate
		d := time.Duration(at * 1e9)
		if d >= span {
			return due, hex.EncodeToString(sum.Sum(nil))
		}
		due = append(due, d)
		sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(d)))
	}
}

// secondClient keeps one load of the second device busy.
type secondClient struct {
	load load
	stop *atomic.Bool
	rows []stamps
	err  error
}

func (c *secondClient) run() {
	for !c.stop.Load() && c.err == nil {
		s := stamps{submit: now()}
		s.arrival = s.submit
		s.start, s.end, s.right, c.err = c.load.do()
		s.received = now()
		c.rows = append(c.rows, s)
	}
}
