package gputest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// FaultDevice is a device that fails on request and else does what the device under it does. Buffers are those of the
// device under it. It is safe for concurrent use; faults may be asked for at any time.
type FaultDevice struct {
	under gpu.Device

	mu      sync.Mutex
	plan    plan
	lost    bool
	counted Counts
}

// plan is what was asked for. The numbers count down; at 0 there is no such plan.
type plan struct {
	compiles    int // so many of the next compilations fail
	allocs      int // this one of the next allocations fails
	full        int // from this one of the next allocations on they fail
	commits     int // this one of the next commits is refused
	commands    int // this one of the next commits fails on the device
	loss        int // with this one of the next commits the device is lost
	failKernel  func(name string) bool
	spoilKernel func(name string) bool
}

// Counts is what a FaultDevice has seen.
type Counts struct {
	Compiles, Allocs, Wraps, Commits int
	Injected                         int // faults that took effect, a spoilt dispatch counting as one
}

// Fault wraps a device.
func Fault(under gpu.Device) *FaultDevice { return &FaultDevice{under: under} }

// Unwrap returns the device under it.
func (d *FaultDevice) Unwrap() gpu.Device { return d.under }

// FailCompiles makes the next n compilations fail with a *gpu.CompileError.
func (d *FaultDevice) FailCompiles(n int) { d.change(func(p *plan) { p.compiles = n }) }

// FailKernels makes every compilation fail whose kernel's name matches; nil ends it.
func (d *FaultDevice) FailKernels(match func(name string) bool) {
	d.change(func(p *plan) { p.failKernel = match })
}

// CorruptKernels makes kernels whose names match give wrong results, also those compiled before: their dispatches are
// left out, so that their outputs stay what they were. nil ends it.
func (d *FaultDevice) CorruptKernels(match func(name string) bool) {
	d.change(func(p *plan) { p.spoilKernel = match })
}

// FailAlloc makes the n-th allocation from now fail with ErrOutOfMemory, once; 0 ends it.
func (d *FaultDevice) FailAlloc(n int) { d.change(func(p *plan) { p.allocs = n }) }

// FailAllocsFrom makes the n-th allocation from now and all after it fail with ErrOutOfMemory, as on a device that is full;
// 0 ends it.
func (d *FaultDevice) FailAllocsFrom(n int) { d.change(func(p *plan) { p.full = n }) }

// FailCommit makes the n-th Commit from now fail with ErrOutOfMemory, once; 0 ends it.
func (d *FaultDevice) FailCommit(n int) { d.change(func(p *plan) { p.commits = n }) }

// FailCommand makes the work of the n-th Commit from now fail on the device: its Event reports a *gpu.CommandError. Once;
// 0 ends it.
func (d *FaultDevice) FailCommand(n int) { d.change(func(p *plan) { p.commands = n }) }

// Lose makes the device lost with the n-th Commit from now: the Event of that one reports ErrDeviceLost, and so does
// every call after it. 0 ends the plan, not the loss.
func (d *FaultDevice) Lose(n int) { d.change(func(p *plan) { p.loss = n }) }

// Counts returns what the device has seen so far.
func (d *FaultDevice) Counts() Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counted
}

func (d *FaultDevice) change(to func(*plan)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	to(&d.plan)
}

// due counts a plan down and says whether this is the call it names.
func (d *FaultDevice) due(n *int) bool {
	if *n <= 0 {
		return false
	}
	*n--
	if *n == 0 {
		d.counted.Injected++
		return true
	}
	return false
}

func injected(err error, what string) error { return fmt.Errorf("%w: %s (injected)", err, what) }

// Info describes the device under it.
func (d *FaultDevice) Info() gpu.Info { return d.under.Info() }

// Close closes the device under it.
func (d *FaultDevice) Close() error { return d.under.Close() }

// Alloc allocates on the device under it.
func (d *FaultDevice) Alloc(size int, place gpu.Place) (gpu.Buffer, error) {
	d.mu.Lock()
	d.counted.Allocs++
	lost, fail := d.lost, d.due(&d.plan.allocs)
	if d.plan.full > 1 {
		d.plan.full--
	} else if d.plan.full == 1 {
		d.counted.Injected++
		fail = true
	}
	d.mu.Unlock()
	switch {
	case lost:
		return nil, injected(gpu.ErrDeviceLost, "allocation")
	case fail:
		return nil, injected(gpu.ErrOutOfMemory, fmt.Sprint(size, " bytes"))
	}
	return d.under.Alloc(size, place)
}

// Wrap wraps on the device under it.
func (d *FaultDevice) Wrap(host []byte) (gpu.Buffer, error) {
	d.mu.Lock()
	d.counted.Wraps++
	lost := d.lost
	d.mu.Unlock()
	if lost {
		return nil, injected(gpu.ErrDeviceLost, "wrapping")
	}
	return d.under.Wrap(host)
}

// faultPipeline knows its kernel's name.
type faultPipeline struct {
	gpu.Pipeline
	name string
}

// Compile compiles on the device under it.
func (d *FaultDevice) Compile(src gpu.Source) (gpu.Pipeline, error) {
	d.mu.Lock()
	d.counted.Compiles++
	lost := d.lost
	fail := d.plan.failKernel != nil && d.plan.failKernel(src.Name)
	if d.plan.compiles > 0 {
		d.plan.compiles--
		fail = true
	}
	if fail && !lost {
		d.counted.Injected++
	}
	d.mu.Unlock()
	switch {
	case lost:
		return nil, injected(gpu.ErrDeviceLost, "compilation")
	case fail:
		return nil, &gpu.CompileError{Kernel: src.Name, Log: "the kernel does not compile (injected)"}
	}
	p, err := d.under.Compile(src)
	if err != nil {
		return nil, err
	}
	return &faultPipeline{p, src.Name}, nil
}

// faultCommands is a recording on the device under it.
type faultCommands struct {
	gpu.Commands
	dev *FaultDevice
}

// Commands begins a recording on the device under it.
func (d *FaultDevice) Commands() gpu.Commands { return &faultCommands{d.under.Commands(), d} }

// Dispatch leaves out what was asked to give wrong results.
func (c *faultCommands) Dispatch(p gpu.Pipeline, groups, threads int, args []gpu.Arg) {
	f, ok := p.(*faultPipeline)
	if !ok {
		c.Commands.Dispatch(p, groups, threads, args) // not of this device: an error of the one under it
		return
	}
	d := c.dev
	d.mu.Lock()
	spoil := d.plan.spoilKernel != nil && d.plan.spoilKernel(f.name)
	if spoil {
		d.counted.Injected++
	}
	d.mu.Unlock()
	if !spoil {
		c.Commands.Dispatch(f.Pipeline, groups, threads, args)
	}
}

// Commit commits, unless a fault is due: then nothing runs.
func (c *faultCommands) Commit() (gpu.Event, error) {
	d := c.dev
	d.mu.Lock()
	d.counted.Commits++
	lost := d.lost
	refuse, fail, lose := d.due(&d.plan.commits), d.due(&d.plan.commands), d.due(&d.plan.loss)
	d.lost = d.lost || lose
	d.mu.Unlock()
	switch {
	case lost:
		c.Discard()
		return nil, injected(gpu.ErrDeviceLost, "commit")
	case refuse:
		c.Discard()
		return nil, injected(gpu.ErrOutOfMemory, "commit")
	case lose:
		c.Discard()
		return failed{injected(gpu.ErrDeviceLost, "command")}, nil
	case fail:
		c.Discard()
		return failed{&gpu.CommandError{Log: "the command failed (injected)"}}, nil
	}
	return c.Commands.Commit()
}

// failed is the event of work that did not run.
type failed struct{ err error }

func (f failed) Done() bool                 { return true }
func (f failed) Wait(context.Context) error { return f.err }
func (f failed) OnEnd(tell func())          { go tell() }
func (f failed) GPUTime() time.Duration     { return 0 }
