// Package floor measures what the memory allows: passes over huge pages that read and write as many bytes as an
// operation must, and do nothing else.
package floor

/*
#cgo CFLAGS: -O3 -std=gnu11 -pthread -march=native
#cgo LDFLAGS: -pthread
#include "floor.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/broadhead-go/broadhead/bench/peers/race"
	"github.com/broadhead-go/broadhead/bench/peers/work"
)

const (
	blockRows = 512 // the least in which every stream has whole lines
	mapped    = 1 << 30
)

// Engine is the floor with a number of threads.
type Engine struct {
	threads int
}

// buffers are shared by all engines and cases; they are mapped once.
var buffers *C.char

// Open maps the memory.
func Open(threads int) (*Engine, error) {
	if buffers == nil {
		if buffers = C.floor_map(mapped); buffers == nil {
			return nil, errors.New("floor: there is no memory")
		}
	}
	return &Engine{threads: threads}, nil
}

func (e *Engine) Name() string                   { return Name(e.threads) }
func (e *Engine) Version() string                { return "C, huge pages" }
func (e *Engine) Close() error                   { return nil }
func (e *Engine) Load(*work.Group, string) error { return nil }
func (e *Engine) Unload() error                  { return nil }

// Name is that of the floor with a number of threads.
func Name(threads int) string { return fmt.Sprintf("floor %dt", threads) }

// Start prepares a case.
func (e *Engine) Start(c work.Case) (race.Runner, error) {
	r := &runner{threads: e.threads}
	t := c.Traffic()
	j := &r.job
	if c.Random {
		return r, r.gather(c)
	}
	j.blocks = C.long((c.Rows + blockRows - 1) / blockRows)
	at := 0
	place := func(perRow float64) (*C.char, C.long) {
		n := (int(perRow*blockRows) + 63) &^ 63
		p := unsafe.Add(unsafe.Pointer(buffers), at)
		at += (n*int(j.blocks) + 4095) &^ 4095
		at += 1 << 12 // streams should not start at the same place of a cache set
		return (*C.char)(p), C.long(n)
	}
	for i, b := range t.In {
		j.in[i], j.inBytes[i] = place(b)
		j.nin++
	}
	for i, b := range t.Out {
		j.out[i], j.outBytes[i] = place(b)
		j.nout++
	}
	if at > mapped {
		return nil, fmt.Errorf("floor: %d bytes of traffic are more than %d", at, mapped)
	}
	// Past the caches or through them: what is faster here.
	if j.nout > 0 {
		var times [2]time.Duration
		for i := range times {
			j.stream = C.int(i)
			for try := range 3 {
				d, err := r.Run(1)
				if err != nil {
					return nil, err
				}
				if try == 0 || d < times[i] {
					times[i] = d
				}
			}
		}
		j.stream = 0
		if times[1] < times[0] {
			j.stream = 1
		}
	}
	return r, nil
}

type runner struct {
	threads int
	job     C.floor_job
}

// gather prepares reads at random. Validity, 1/64 of the values, is left out.
func (r *runner) gather(c work.Case) error {
	j, n := &r.job, c.Rows/2
	width := int(c.Width())
	need := c.Rows*width + 8*(n+64) + n*width + 3*4096
	if need > mapped {
		return fmt.Errorf("floor: %d bytes of traffic are more than %d", need, mapped)
	}
	j.width, j.blocks = C.long(width), C.long(n/blockRows)
	j.in[0] = buffers
	index := unsafe.Add(unsafe.Pointer(buffers), (c.Rows*width+4095)&^4095)
	j.in[1] = (*C.char)(index)
	j.out[0] = (*C.char)(unsafe.Add(index, (8*(n+64)+4095)&^4095))
	list := unsafe.Slice((*int64)(index), n+64)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range list {
		list[i] = rng.Int64N(int64(c.Rows))
	}
	return nil
}

func (r *runner) Variant() string {
	if r.job.stream != 0 {
		return "streaming stores"
	}
	return ""
}

func (r *runner) Close()                    {}
func (r *runner) Check() ([]float64, error) { return nil, nil }

func (r *runner) Run(n int) (time.Duration, error) {
	d := C.floor_run(&r.job, C.int(r.threads), C.int(n))
	if d < 0 {
		return 0, errors.New("floor: cannot start a thread")
	}
	return time.Duration(d), nil
}
