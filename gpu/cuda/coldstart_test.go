//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// envColdStart makes TestColdStart's processes say how long their first result took.
const envColdStart = "BROADHEAD_TEST_COLD_START"

var coldStartLine = regexp.MustCompile(`first result after (\d+) us, (\d+) compiled, (\d+) from the cache`)

// TestColdStart starts eight processes at once on an empty cache, and then one that must compile nothing.
func TestColdStart(t *testing.T) {
	if os.Getenv(envColdStart) != "" {
		d, err := gpu.Open("cuda")
		require.NoError(t, err)
		start := time.Now()
		require.NoError(t, work(d))
		images := d.(*device).images
		fmt.Printf("first result after %d us, %d compiled, %d from the cache\n",
			time.Since(start).Microseconds(), images.misses.Load(), images.hits.Load())
		return
	}
	d := open(t)
	if d == nil {
		return
	}
	require.NoError(t, d.Close())
	cache := t.TempDir()
	run := func() (us, compiled, cached int) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestColdStart$")
		cmd.Env = append(os.Environ(), envColdStart+"=1", envCache+"="+cache)
		out, err := cmd.CombinedOutput()
		m := coldStartLine.FindStringSubmatch(string(out))
		if err != nil || m == nil {
			t.Errorf("%v: %s", err, out)
			return 0, 0, 0
		}
		us, _ = strconv.Atoi(m[1])
		compiled, _ = strconv.Atoi(m[2])
		cached, _ = strconv.Atoi(m[3])
		return us, compiled, cached
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			us, compiled, cached := run()
			if compiled+cached != 2 {
				t.Errorf("%d kernels", compiled+cached)
			}
			t.Logf("beside others: %d us, %d compiled", us, compiled)
		})
	}
	all.Wait()
	for range 3 {
		us, compiled, cached := run()
		t.Logf("after them: %d us, %d compiled", us, compiled)
		require.Zero(t, compiled)
		require.Equal(t, 2, cached)
	}
}
