package compute

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// guard is an allocator for calls that go to arrow-go. It runs kernels in goroutines of its own, where nobody can
// recover from an allocator's panic; so where the allocator inside gives up, plain Go memory serves until the call
// has ended, and the call's error is the allocator's.
type guard struct {
	arrowmem.Allocator
	mu    sync.Mutex
	err   error
	plain map[*byte]bool // blocks that are Go's
}

// guarded is a context for a call that goes to arrow-go; failed tells afterwards whether memory ran out.
func guarded(ctx context.Context) (safe context.Context, failed func() error) {
	mem := GetAllocator(ctx)
	if _, ok := mem.(*arrowmem.GoAllocator); ok {
		return ctx, func() error { return nil }
	}
	g := &guard{Allocator: mem}
	return WithAllocator(ctx, g), func() error {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.err
	}
}

// try runs an allocation and falls back to Go's memory.
func (g *guard) try(n int, f func() []byte) (b []byte) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		err, ok := p.(error)
		if !ok || errors.As(err, new(runtime.Error)) {
			panic(p) // a bug, no lack of memory
		}
		b = arrowmem.DefaultAllocator.Allocate(n)
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.plain == nil {
			g.plain, g.err = map[*byte]bool{}, fmt.Errorf("compute: %w", err)
		}
		if cap(b) > 0 {
			g.plain[unsafe.SliceData(b)] = true
		}
	}()
	return f()
}

// isPlain says whether a block is Go's; forget ends that.
func (g *guard) isPlain(b []byte, forget bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := unsafe.SliceData(b)
	plain := cap(b) > 0 && g.plain[at]
	if plain && forget {
		delete(g.plain, at)
	}
	return plain
}

func (g *guard) Allocate(n int) []byte {
	return g.try(n, func() []byte { return g.Allocator.Allocate(n) })
}

func (g *guard) Reallocate(n int, b []byte) []byte {
	if g.isPlain(b, false) {
		out := g.Allocate(n)
		copy(out, b)
		g.Free(b)
		return out
	}
	failed := true
	out := g.try(n, func() []byte {
		out := g.Allocator.Reallocate(n, b)
		failed = false
		return out
	})
	if failed {
		copy(out, b)
		g.Allocator.Free(b)
	}
	return out
}

func (g *guard) Free(b []byte) {
	if !g.isPlain(b, true) {
		g.Allocator.Free(b)
	}
}
