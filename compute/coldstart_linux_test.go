//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

var firstResult = regexp.MustCompile(`first result after (\d+) us, the three others after (\d+) us, (\d+) kernels`)

// TestColdStartOnCUDA measures what a process needs from an open device to its first answer, its kernels' admission
// included: eight processes at once on an empty cache, then three that find everything there.
func TestColdStartOnCUDA(t *testing.T) {
	if isChild(t) {
		coldStart(t)
		return
	}
	if cudaDevice(t) == nil {
		return
	}
	cache := "BROADHEAD_CUDA_CACHE=" + t.TempDir()
	run := func(when string) (us int) {
		out, _ := child(t, time.Minute, cache)
		m := firstResult.FindStringSubmatch(out)
		if m == nil {
			t.Errorf("%s", out)
			return 0
		}
		t.Logf("%s: %s", when, m[0])
		us, _ = strconv.Atoi(m[1])
		return us
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { run("eight at once, empty cache") })
	}
	all.Wait()
	for range 3 {
		run("cache filled")
	}
}

func coldStart(t *testing.T) {
	dev, err := gpu.Open("cuda")
	require.NoError(t, err)
	ctx := onDevice(t, dev)
	values, mask := counting(compute.GetAllocator(ctx), 100_000), testBools(100_000)
	start := time.Now()
	require.NoError(t, runJob(ctx, jobs[0], values, mask))
	first := time.Since(start)
	for _, j := range jobs[1:4] {
		require.NoError(t, runJob(ctx, j, values, mask))
	}
	others := time.Since(start) - first
	var built int64
	for _, p := range compute.Pipelines() {
		built += p.Builds
	}
	fmt.Fprintf(os.Stdout, "first result after %d us, the three others after %d us, %d kernels\n",
		first.Microseconds(), others.Microseconds(), built)
}
