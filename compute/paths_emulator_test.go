//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"testing"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/memory"
)

// pathsOf are contexts of every path that this build's tests have.
func pathsOf(t *testing.T) map[string]context.Context {
	ctx, _ := emulated(t)
	return map[string]context.Context{
		"cpu":      compute.WithAllocator(onCPU(), memory.New(nil)),
		"emulator": ctx,
	}
}
