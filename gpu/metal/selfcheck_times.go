//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"slices"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// times measures what decides from how many rows a GPU is worth its way.
func (c *checker) times() {
	rounds, copied := 500, 256<<20
	if c.options.Quick {
		rounds, copied = 20, 4<<20
	}
	low := gpu.LowLatencyWait()
	defer gpu.SetLowLatencyWait(low)
	for _, poll := range []bool{true, false} {
		name := "empty dispatch, commit to end, waiter polls"
		if !poll {
			name = "empty dispatch, commit to end, waiter blocks"
		}
		c.try("times", name, func() (string, error) {
			gpu.SetLowLatencyWait(poll)
			return c.latency(rounds, 1)
		})
	}
	gpu.SetLowLatencyWait(low)
	c.try("times", "100 dispatches with barriers in one commit", func() (string, error) { return c.latency(max(1, rounds/10), 100) })
	c.try("times", fmt.Sprintf("copy of %d MiB on the GPU", copied>>20), func() (string, error) { return c.bandwidth(copied) })
	c.try("times", "wrapping 16 MiB of host memory", func() (string, error) { return c.wrapping(rounds) })
}

// latency times commits of some tiny dispatches.
func (c *checker) latency(rounds, dispatches int) (string, error) {
	p, err := c.dev.Compile(gpu.Source{Name: "check_fill", Text: checkPreamble + checkKernels["check_fill"]})
	if err != nil {
		return "", err
	}
	defer p.Release()
	b, free, err := c.words(32, 1)
	if err != nil {
		return "", err
	}
	defer free()
	args := []gpu.Arg{{Buf: b[0]}, {Bytes: []byte{32, 0, 0, 0, 0, 0, 0, 0}}}
	return c.quantiles(rounds, func() error {
		record := c.dev.Commands()
		for i := range dispatches {
			if i > 0 {
				record.Barrier()
			}
			record.Dispatch(p, 1, 32, args)
		}
		return c.finish(record)
	})
}

// bandwidth times the copy of a buffer, which reads and writes it.
func (c *checker) bandwidth(n int) (string, error) {
	b, free, err := c.words(n/4, 2)
	if err != nil {
		return "", err
	}
	defer free()
	best := time.Duration(0)
	for range 5 {
		record := c.dev.Commands()
		record.Copy(b[1], 0, b[0], 0, n)
		start := time.Now()
		if err := c.finish(record); err != nil {
			return "", err
		}
		if took := time.Since(start); best == 0 || took < best {
			best = took
		}
	}
	return fmt.Sprintf("%.1f GB/s read and written", 2*float64(n)/float64(max(best, 1))), nil
}

// wrapping times what a column in foreign memory costs before the GPU sees it.
func (c *checker) wrapping(rounds int) (string, error) {
	const n = 16 << 20
	m, err := mapMemory(n)
	if err != nil {
		return "", err
	}
	defer m.unmap()
	clear(m.page)
	return c.quantiles(rounds, func() error {
		b, err := c.dev.Wrap(m.page[:n])
		if err != nil {
			return err
		}
		b.Release()
		return nil
	})
}

// quantiles times calls, after some that do not count.
func (c *checker) quantiles(rounds int, call func() error) (string, error) {
	for range 3 {
		if err := call(); err != nil {
			return "", err
		}
	}
	times := make([]time.Duration, rounds)
	for i := range times {
		if err := c.ctx.Err(); err != nil {
			return "", err
		}
		start := time.Now()
		if err := call(); err != nil {
			return "", err
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	at := func(percent int) time.Duration { return times[(len(times)-1)*percent/100].Round(100 * time.Nanosecond) }
	return fmt.Sprintf("median %v, fastest %v, 90%% within %v", at(50), at(0), at(90)), nil
}
