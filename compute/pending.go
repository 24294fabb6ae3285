package compute

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
)

// Pending is a batch under way. On a device no goroutine blocks for it: its results are collected by whoever comes first,
// somebody who waits for it or the end of its commit.
type Pending struct {
	b *Batch
	e *engine // nil: the CPU runs it

	mu         sync.Mutex
	event      gpu.Event // the commit under way, nil once the device has nothing more to do
	collecting bool      // somebody does what follows the event's end
	watched    bool      // the event's end is told
	done       chan struct{}

	over atomic.Bool
	err  error // valid once over
}

// Run runs the batch and waits for it. The error of a call names its function; after an error no results exist.
func (b *Batch) Run() error { return b.begin(b.ctx.Done() == nil).Wait(b.ctx) }

// Start hands the batch to the device and returns at once; on the CPU it runs in a goroutine of its own. Its arguments
// stay alive until the work has ended, also when every waiter's context is cancelled.
func (b *Batch) Start() *Pending {
	p := b.begin(false)
	p.watch()
	return p
}

// begin hands the batch to the device, or to the CPU: at once, where the caller waits for that, or in a goroutine.
func (b *Batch) begin(atOnce bool) *Pending {
	p := &Pending{b: b}
	err := b.closed()
	if err != nil {
		p.end(err)
		return p
	}
	b.mu.Lock()
	b.started, b.pending = true, p
	b.mu.Unlock()
	if b.err != nil {
		p.end(b.err)
		return p
	}
	if e := b.engine(); e != nil {
		err := b.submit(e)
		if err == nil {
			p.e, p.event = e, b.r.event
			return p
		}
		if err = b.fallback(e, err); err != nil {
			p.end(err)
			return p
		}
	}
	if atOnce {
		p.runOnCPU(nil)
	} else {
		go p.runOnCPU(nil)
	}
	return p
}

// runOnCPU runs the batch on the CPU, after a device was perhaps wrong.
func (p *Pending) runOnCPU(misfit error) {
	ctx := context.WithoutCancel(p.b.ctx)
	err := p.b.runOnCPU(ctx)
	if err == nil && misfit != nil {
		p.e.fellBack(ctx, "cast", misfit)
	}
	p.end(err)
}

// end is the batch's. A batch that was released meanwhile lets go of what it has.
func (p *Pending) end(err error) {
	b := p.b
	b.mu.Lock()
	defer b.mu.Unlock()
	p.err = err
	p.mu.Lock()
	p.over.Store(true)
	if p.done != nil {
		close(p.done)
	}
	p.mu.Unlock()
	if b.released && b.pending == p {
		b.free()
	}
}

func (p *Pending) ended() bool { return p.over.Load() }

// Done is closed when the batch has ended, well or badly.
func (p *Pending) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		p.done = make(chan struct{})
		if p.over.Load() {
			close(p.done)
		}
	}
	return p.done
}

// Wait returns the batch's error, nil for success, or ctx's if that ends first; the batch goes on then.
func (p *Pending) Wait(ctx context.Context) error {
	for !p.ended() {
		ev := p.next()
		if ev == nil { // the CPU runs it, or somebody collects
			select {
			case <-p.Done():
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		if err := ev.Wait(ctx); err != nil && ctx.Err() != nil {
			p.watch()
			return ctx.Err()
		}
		p.collect(ev)
	}
	return p.err
}

// next is the commit whose end nobody deals with yet.
func (p *Pending) next() gpu.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.collecting {
		return nil
	}
	return p.event
}

// watch has the end of the commit under way, and of those that follow it, told.
func (p *Pending) watch() {
	p.mu.Lock()
	ev, first := p.event, !p.watched
	p.watched = true
	p.mu.Unlock()
	if first && ev != nil {
		ev.OnEnd(func() { p.collect(ev) })
	}
}

// collect does what follows the end of a commit, unless somebody does or has done it.
func (p *Pending) collect(ev gpu.Event) {
	p.mu.Lock()
	mine := p.event == ev && !p.collecting
	p.collecting = p.collecting || mine
	p.mu.Unlock()
	if !mine {
		return
	}
	b := p.b
	next, err := b.collect(context.WithoutCancel(b.ctx), p.e)
	if next == nil && err == nil {
		p.end(nil)
		return
	}
	if err == nil {
		p.mu.Lock()
		p.event, p.collecting = next, false
		watched := p.watched
		p.mu.Unlock()
		if watched {
			next.OnEnd(func() { p.collect(next) })
		}
		return
	}
	var misfit error
	if isMisfit(err) {
		misfit = err
	}
	if err = b.fallback(p.e, err); err != nil {
		p.end(err)
		return
	}
	go p.runOnCPU(misfit)
}
