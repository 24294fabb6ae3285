//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// shownFailures is how many kernels that do not compile are shown: they mostly fail alike.
const shownFailures = 5

// kernels compiles kernels, several at a time, and looks whether their threadgroups fit.
func (c *checker) kernels() {
	var compiled, failed atomic.Int64
	c.try("kernels", "compilation", func() (string, error) {
		keys := make(chan msl.Key)
		var workers sync.WaitGroup
		for range max(1, runtime.GOMAXPROCS(0)) {
			workers.Go(func() {
				for k := range keys {
					name, err := c.kernel(k)
					if err == nil {
						compiled.Add(1)
					} else if failed.Add(1) <= shownFailures {
						c.emit(Finding{Part: "kernels", Name: name, Detail: err.Error()})
					}
				}
			})
		}
		for _, k := range c.options.Keys {
			if c.ctx.Err() != nil {
				break
			}
			keys <- k
		}
		close(keys)
		workers.Wait()
		if err := c.ctx.Err(); err != nil {
			return "", err
		}
		if n := failed.Load(); n > 0 {
			return "", fmt.Errorf("%d of %d kernels fail", n, len(c.options.Keys))
		}
		return fmt.Sprintf("all %d kernels compile and run with %d threads in a threadgroup", compiled.Load(), msl.Threads), nil
	})
}

// kernel compiles the kernel of a key.
func (c *checker) kernel(k msl.Key) (name string, err error) {
	name, text, err := msl.Text(k)
	if err != nil {
		return fmt.Sprint(k), err
	}
	p, err := c.dev.Compile(gpu.Source{Name: name, Text: text})
	if err != nil {
		return name, err
	}
	defer p.Release()
	if p.MaxThreads() < msl.Threads {
		return name, fmt.Errorf("it runs with at most %d threads in a threadgroup, not %d", p.MaxThreads(), msl.Threads)
	}
	return name, nil
}
