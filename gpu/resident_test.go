package gpu_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// idler is a worker that does nothing.
type idler struct{ name string }

func (*idler) Takes(gpu.WorkerOp, msl.Type) bool    { return false }
func (*idler) Do(context.Context, []gpu.Task) error { return gpu.ErrUnsupported }

type device struct{ gpu.Device }

func TestSetWorker(t *testing.T) {
	a, b := &device{}, &device{}
	require.Nil(t, gpu.WorkerOf(a))
	gpu.SetWorker(a, &idler{"a"})
	gpu.SetWorker(b, &idler{"b"})
	require.Equal(t, &idler{"a"}, gpu.WorkerOf(a))
	require.Equal(t, &idler{"b"}, gpu.WorkerOf(b))
	gpu.SetWorker(a, nil)
	require.Nil(t, gpu.WorkerOf(a))
	require.NotNil(t, gpu.WorkerOf(b))
	gpu.SetWorker(b, nil)
	require.Nil(t, gpu.WorkerOf(b))
	require.Zero(t, testing.AllocsPerRun(100, func() { gpu.WorkerOf(a) }))
}

func ExampleWorkerOf() {
	d := &device{} // resident.SetMode registers a worker of its own
	gpu.SetWorker(d, &idler{})
	fmt.Println(gpu.WorkerOf(d) != nil)
	gpu.SetWorker(d, nil)
	fmt.Println(gpu.WorkerOf(d) != nil)
	// Output:
	// true
	// false
}

func ExampleSetWorker() {
	d := &device{}
	gpu.SetWorker(d, &idler{})
	defer gpu.SetWorker(d, nil)
	fmt.Println(gpu.WorkerOf(d).Takes(gpu.WorkerSum, msl.I64))
	// Output: false
}

func ExampleHaveWorkers() {
	d := &device{}
	gpu.SetWorker(d, &idler{})
	fmt.Println(gpu.HaveWorkers())
	gpu.SetWorker(d, nil)
	fmt.Println(gpu.HaveWorkers())
	// Output:
	// true
	// false
}
