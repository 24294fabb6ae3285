package gpu

import (
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/msl"
)

// Pipelines holds the compiled kernels of one device, by key. It is safe for concurrent use.
type Pipelines struct {
	device Device
	source func(msl.Key) (Source, error)
	table  onceMap[msl.Key, Pipeline]
	builds atomic.Int64
	hits   atomic.Int64

	closing sync.RWMutex // held for reading while a kernel is built
	closed  atomic.Bool
}

// NewPipelines returns an empty cache for d. source writes the text of a kernel; it is called on a miss only.
func NewPipelines(d Device, source func(msl.Key) (Source, error)) *Pipelines {
	return &Pipelines{device: d, source: source}
}

// Get returns the compiled kernel of a key. A hit takes no lock and allocates nothing. On a miss the text is written and
// compiled once, however many callers ask at the same time; they all wait for it. A failure is remembered and never
// tried again, except ErrOutOfMemory, ErrTimeout and a cancelled context, which say nothing about the kernel.
// After Close it returns ErrClosed.
func (p *Pipelines) Get(k msl.Key) (Pipeline, error) {
	if p.closed.Load() {
		return nil, ErrClosed
	}
	if e := p.table.peek(k); e != nil {
		p.hits.Add(1)
		return e.value, e.err
	}
	p.closing.RLock()
	defer p.closing.RUnlock()
	if p.closed.Load() {
		return nil, ErrClosed
	}
	return p.table.get(k, func() (Pipeline, error) {
		p.builds.Add(1)
		src, err := p.source(k)
		if err != nil {
			return nil, err
		}
		return p.device.Compile(src)
	})
}

// Builds counts the kernels that were written and compiled, failures included.
func (p *Pipelines) Builds() int64 { return p.builds.Load() }

// Hits counts the calls of Get that found their answer ready.
func (p *Pipelines) Hits() int64 { return p.hits.Load() }

// Close releases every kernel. Builds that are under way end first.
func (p *Pipelines) Close() {
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.closed.Swap(true) {
		return
	}
	p.table.each(func(_ msl.Key, pipe Pipeline, err error) {
		if err == nil && pipe != nil {
			pipe.Release()
		}
	})
}
