// Package gputest tests drivers of package gpu and those who use them: Run is the conformance suite that every driver
// passes, and Fault wraps a device so that it fails on request.
package gputest

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// Faults is what a device under test may offer beside gpu.Device: failures on request, of the device itself. With it
// the suite tests more.
type Faults interface {
	// FailNextCommand makes the next commit fail on the device.
	FailNextCommand()
	// FailNextAlloc makes the next allocation find no memory.
	FailNextAlloc()
	// FailNextPipeline makes the next compilation fail once where real devices fail at random.
	FailNextPipeline()
	// Lose makes the device fail for good, as one that was removed; Restore ends it for devices opened later.
	Lose()
	Restore()
}

// limit is how long anything in the suite may take before the test fails.
const limit = time.Minute

// Run runs the conformance suite. open returns a fresh device each time; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) gpu.Device) {
	for _, group := range [][]check{memoryChecks, compileChecks, dispatchChecks, simdChecks, eventChecks, lifeChecks} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) { c.run(newBench(t, open)) })
		}
	}
	probe := open(t)
	_, faulty := probe.(Faults)
	require.NoError(t, probe.Close())
	if !faulty {
		return
	}
	for _, c := range faultChecks {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, open)
			b.faults = b.dev.(Faults)
			c.run(b)
		})
	}
}

// check is one test of the suite.
type check struct {
	name string
	run  func(b *bench)
}

// bench is a device under test and what a test needs around it.
type bench struct {
	*testing.T
	dev    gpu.Device
	open   func(t *testing.T) gpu.Device
	faults Faults
	closed bool
}

func newBench(t *testing.T, open func(t *testing.T) gpu.Device) *bench {
	b := &bench{T: t, dev: open(t), open: open}
	t.Cleanup(func() {
		if !b.closed {
			require.NoError(t, b.dev.Close())
		}
	})
	return b
}

// compile builds one of the suite's kernels.
func (b *bench) compile(name string) gpu.Pipeline {
	b.Helper()
	p, err := b.dev.Compile(source(name))
	require.NoError(b, err)
	b.Cleanup(p.Release)
	return p
}

// alloc returns a shared buffer of n elements, filled with 0xA5 bytes.
func alloc[T any](b *bench, n int) (gpu.Buffer, []T) {
	b.Helper()
	buf, err := b.dev.Alloc(n*int(unsafe.Sizeof(*new(T))), gpu.Shared)
	require.NoError(b, err)
	b.Cleanup(buf.Release)
	host := buf.Host()
	for i := range host {
		host[i] = 0xA5
	}
	return buf, view[T](host)
}

// input returns a shared buffer whose element i is f(i).
func input[T any](b *bench, n int, f func(i int) T) (gpu.Buffer, []T) {
	b.Helper()
	buf, host := alloc[T](b, n)
	for i := range host {
		host[i] = f(i)
	}
	return buf, host
}

// view is bytes as elements.
func view[T any](bytes []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/int(unsafe.Sizeof(*new(T))))
}

// value is a parameter struct as an argument.
func value(n, threads int) gpu.Arg {
	p := params{uint64(n), uint64(threads)}
	return gpu.Arg{Bytes: append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&p)), unsafe.Sizeof(p))...)}
}

// args are whole buffers and then the parameters.
func args(p gpu.Arg, buffers ...gpu.Buffer) []gpu.Arg {
	var list []gpu.Arg
	for _, b := range buffers {
		list = append(list, gpu.Arg{Buf: b})
	}
	return append(list, p)
}

// commit commits c and fails the test if it cannot.
func (b *bench) commit(c gpu.Commands) gpu.Event {
	b.Helper()
	e, err := c.Commit()
	require.NoError(b, err)
	return e
}

// wait waits for an event, at most limit.
func (b *bench) wait(e gpu.Event) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return e.Wait(ctx)
}

// finish commits c and waits for its success.
func (b *bench) finish(c gpu.Commands) {
	b.Helper()
	require.NoError(b, b.wait(b.commit(c)))
}

// run dispatches one kernel over n elements and waits for it.
func (b *bench) run(p gpu.Pipeline, n, threads int, buffers ...gpu.Buffer) {
	b.Helper()
	c := b.dev.Commands()
	c.Dispatch(p, (n+threads-1)/threads, threads, args(value(n, threads), buffers...))
	b.finish(c)
}
