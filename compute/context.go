package compute

import (
	"context"
	"runtime"

	"github.com/broadhead-go/broadhead/gpu"
)

type deviceKey struct{}

// WithDevice makes calls under the returned context use dev where a GPU wins; nil means the CPU only. Without it calls
// use gpu.Default(), which BROADHEAD_DEVICE chooses.
func WithDevice(ctx context.Context, dev gpu.Device) context.Context {
	return context.WithValue(ctx, deviceKey{}, &dev)
}

// deviceOf is the device that calls under ctx may use. The error says why there is none.
func deviceOf(ctx context.Context) (gpu.Device, error) {
	if d, ok := ctx.Value(deviceKey{}).(*gpu.Device); ok {
		if *d == nil {
			return nil, errCPUOnly
		}
		return *d, nil
	}
	return gpu.Default()
}

// workersOf is the number of goroutines a CPU kernel may use.
func workersOf(ctx context.Context) int {
	return max(1, min(GetExecCtx(ctx).NumParallel, runtime.GOMAXPROCS(0)))
}
