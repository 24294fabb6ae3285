//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// The kernel of a GPU request: its answer tells of its seed. On CUDA it works for a time and stamps begin and end with the
// device's own clock; elsewhere it works a number of steps, and the events have the stamps.
const (
	answerText = `#include <metal_stdlib>
using namespace metal;
kernel void answer(device ulong* out [[buffer(0)]], constant ulong& seed [[buffer(1)]], constant ulong& work [[buffer(2)]],
    uint tid [[thread_index_in_threadgroup]]) {
    if (tid != 0u) return;
    out[0] = seed * 6364136223846793005ul + 1442695040888963407ul;
`
	answerSteps = `    uint x = 1u;
    for (ulong i = 0ul; i < work; i++) x = x * 1664525u + 1013904223u;
    out[1] = (ulong)x;
}
`
	answerCUDA = `    unsigned long long began, ended;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
    do { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ended)); } while (ended - began < work);
    out[1] = began;
    out[2] = ended;
}
`
	answerBytes = 24
)

func answerOf(seed uint64) uint64 { return seed*6364136223846793005 + 1442695040888963407 }

// server is the GPU that requests go to, one at a time.
type server struct {
	dev      gpu.Device
	pipeline gpu.Pipeline
	out      gpu.Buffer
	seed     uint64
	work     uint64 // of a request: steps, or nanoseconds on CUDA
	ownClock bool   // the device stamps with a clock of its own
}

// tie is one moment by the device's clock and by the host's.
type tie struct{ device, host time.Duration }

// served is what a device says of a request.
type served struct {
	start, end time.Duration
	right      bool
}

// newServer makes a device ready whose requests take about the given time. A device that computes nothing of its own
// comes with fix, which makes them take it.
func newServer(dev gpu.Device, service time.Duration, fix func(time.Duration)) (s *server, err error) {
	s = &server{dev: dev, ownClock: dev.Info().Driver == "cuda"}
	text := answerText + answerSteps
	if s.ownClock {
		text = answerText + answerCUDA
	}
	if s.pipeline, err = dev.Compile(gpu.Source{Name: "answer", Text: text}); err != nil {
		return nil, err
	}
	if s.out, err = dev.Alloc(answerBytes, gpu.Shared); err != nil {
		return nil, err
	}
	switch {
	case fix != nil:
		fix(service)
		return s, nil
	case s.ownClock:
		s.work = uint64(service)
		return s, nil
	}
	return s, s.stretch(service)
}

// commit sends a request to the device.
func (s *server) commit(work uint64) (gpu.Event, error) {
	s.seed++
	clear(s.out.Host())
	c := s.dev.Commands()
	c.Dispatch(s.pipeline, 1, 32, []gpu.Arg{{Buf: s.out}, {Bytes: binary.NativeEndian.AppendUint64(nil, s.seed)},
		{Bytes: binary.NativeEndian.AppendUint64(nil, work)}})
	return c.Commit()
}

// stretch finds the number of steps that take the service time.
func (s *server) stretch(service time.Duration) error {
	for s.work = 1 << 10; ; s.work *= 2 {
		e, err := s.commit(s.work)
		if err == nil {
			err = e.Wait(context.Background())
		}
		if err != nil {
			return err
		}
		if took := e.GPUTime(); took > service/2 || s.work > 1<<40 {
			s.work = uint64(float64(s.work) * float64(service) / float64(max(took, 1)))
			return nil
		}
	}
}

// unpack reads the answer of a request that has ended.
func (s *server) unpack(e gpu.Event) served {
	out := s.out.Host()
	r := served{right: binary.NativeEndian.Uint64(out) == answerOf(s.seed)}
	if s.ownClock {
		r.start = time.Duration(binary.NativeEndian.Uint64(out[8:]))
		r.end = time.Duration(binary.NativeEndian.Uint64(out[16:]))
	} else if t, ok := e.(gpu.Timestamps); ok {
		r.start, r.end = t.Timestamps()
	}
	return r
}

// tie ties the device's clock to the host's: the least time between a stamp on the device and its sight by a host that
// polls counts as none. What is measured is late by that much too little, some microseconds. Clocks drift, so this is done
// before and after a window. Devices that stamp with the host's clock need none.
func (s *server) tie() (best tie, err error) {
	if !s.ownClock {
		return tie{}, nil
	}
	for i := range 200 {
		e, err := s.commit(0)
		if err != nil {
			return best, err
		}
		for !e.Done() {
		}
		seen := now()
		if err := e.Wait(context.Background()); err != nil {
			return best, err
		}
		t := tie{time.Duration(binary.NativeEndian.Uint64(s.out.Host()[16:])), seen}
		if i == 0 || t.host-t.device < best.host-best.device {
			best = t
		}
	}
	return best, nil
}

// toHost turns stamps of the device's clock into the host's, which were tied before and after.
func toHost(rows []stamps, before, after tie) {
	if before == after {
		return
	}
	rate := float64(after.host-before.host) / float64(after.device-before.device)
	for i := range rows {
		for _, at := range []*time.Duration{&rows[i].start, &rows[i].end} {
			*at = before.host + time.Duration(float64(*at-before.device)*rate)
		}
	}
}

func (s *server) close() error {
	s.out.Release()
	s.pipeline.Release()
	return s.dev.Close()
}
