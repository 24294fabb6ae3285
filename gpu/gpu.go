// Package gpu says what a GPU is to Broadhead: a device that allocates memory, compiles kernels, and runs recorded
// commands. This file is the whole contract. Drivers (gpu/metal, gpu/cuda) implement it and register themselves.
//
// Ordering is explicit. Inside one recording, commands separated by no Barrier may run in any order or at once;
// recordings are not ordered with each other at all until the Event of the first has ended.
package gpu

import (
	"context"
	"time"

	"github.com/broadhead-go/broadhead/msl"
)

// Device is one GPU. All methods are safe for concurrent use.
type Device interface {
	// Info describes the device; the answer never changes.
	Info() Info
	// Alloc returns size bytes of device memory, at least 128-byte aligned, of unspecified content.
	// It fails with ErrOutOfMemory, or ErrClosed after Close. Size must be positive.
	Alloc(size int, place Place) (Buffer, error)
	// Wrap makes host memory usable by commands without a copy, until the returned Buffer is released.
	// Start and length must be multiples of Info().PageSize (ErrUnaligned) and the memory must stay mapped and
	// must not move. Devices that cannot do it return ErrUnsupported.
	Wrap(host []byte) (Buffer, error)
	// Compile builds one kernel. A failure is a *CompileError (errors.Is ErrCompile).
	Compile(src Source) (Pipeline, error)
	// Commands begins a recording. It never fails: an error shows at Commit.
	Commands() Commands
	// Close frees the device when its last work has ended. Later calls return ErrClosed.
	Close() error
}

// Commands is one recording: dispatches, copies and barriers, committed once or discarded. It is used by one goroutine.
// From the moment a Buffer or owner is named until the work has ended (or Discard), the recording keeps it alive.
type Commands interface {
	// Dispatch runs groups threadgroups of threads threads each. args[i] is bound to buffer index i; an Arg with neither
	// Buf nor Bytes leaves its index unbound. Any number of groups is legal (the driver folds them into rows; kernels
	// number them by the helper group_index of package msl).
	Dispatch(p Pipeline, groups, threads int, args []Arg)
	// Copy moves n bytes; the ranges must not overlap.
	Copy(dst Buffer, dstOff int, src Buffer, srcOff, n int)
	// Barrier orders everything recorded before it before everything recorded after it.
	Barrier()
	// Retain keeps a Go object reachable until the work has ended, then calls release if it is not nil.
	Retain(owner any, release func())
	// Commit hands the recording to the device and returns at once. Errors are those of recording (a bad argument,
	// ErrOutOfMemory, ErrDeviceLost, ErrClosed); after an error everything retained is released and nothing runs.
	Commit() (Event, error)
	// Discard drops a recording that was not committed.
	Discard()
}

// Runner is an ability of Commands for small work that is done over and over.
type Runner interface {
	// Run is Commit and its Event's Wait. When it returns nil the work has ended and the commands can be used for another
	// recording, without an allocation; after an error they are spent, and the work may go on as it does after Wait.
	Run(ctx context.Context) error
}

// Event is the completion of one commit. It succeeds only if its own work did.
type Event interface {
	// Done says whether the work has ended, well or badly, without blocking.
	Done() bool
	// Wait returns nil when the work succeeded. It spins for a bounded time, then blocks in the driver. Errors:
	// ErrDeviceLost, ErrTimeout, a *CommandError, or ctx.Err(): the context ends the waiting, never the work.
	Wait(ctx context.Context) error
	// OnEnd has f called, once and in a goroutine of its own, when the work has ended, well or badly, or counts as failed.
	// Nobody blocks meanwhile: many events cost no goroutines. It is called once for an event.
	OnEnd(f func())
	// GPUTime is the time the device spent, 0 where it cannot tell; valid after a successful Wait.
	GPUTime() time.Duration
}

// Timestamps is an ability of the events of devices whose clock is the host's monotonic one (Metal's are).
type Timestamps interface {
	// Timestamps are when the device began and ended the work, both 0 where it cannot tell; valid after a successful Wait.
	Timestamps() (start, end time.Duration)
}

// Buffer is memory commands can name.
type Buffer interface {
	// Host is the memory as the CPU sees it, nil for Private places.
	Host() []byte
	Len() int
	// Release gives the memory back once no command uses it.
	Release()
}

// Pipeline is a compiled kernel.
type Pipeline interface {
	// MaxThreads is the largest threadgroup this kernel can run with.
	MaxThreads() int
	Release()
}

// Arg is one kernel argument: a buffer from Off on, or a small value (at most 4,096 bytes, copied by Dispatch).
type Arg struct {
	Buf   Buffer
	Off   int
	Bytes []byte
}

// Place says who can see an allocation.
type Place uint8

const (
	// Shared memory is seen by the host and the device.
	Shared Place = iota
	// Private memory is seen by the device only.
	Private
)

// Source is a kernel to compile. Name is the kernel function's name, as profilers show it.
type Source struct {
	Name string
	Text string
}

// Info describes a device.
type Info struct {
	Driver           string // "metal", "cuda", "emulator"
	Name             string // as the maker calls it
	Unified          bool   // CPU and GPU share one memory: Shared buffers are as fast as Private ones
	Caps             msl.Caps
	SIMDWidth        int
	ThreadgroupBytes int
	PageSize         int // what Wrap asks of pointer and length
	MemoryBytes      int64
	MaxBufferBytes   int64
}
