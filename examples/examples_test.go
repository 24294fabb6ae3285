// Package examples_test runs the programs of this folder and compares what they print.
package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// programs are those whose output is the same on every machine, or depends on the device alone.
var programs = []string{"quickstart", "batch", "zerocopy", "registry"}

func TestOnCPU(t *testing.T) {
	runAll(t, "", "", "BROADHEAD_DEVICE=cpu")
}

// runAll builds the programs and runs each. What one must print is testdata/NAME.txt, or testdata/NAME-VARIANT.txt
// where there is one.
func runAll(t *testing.T, variant, tags string, env ...string) {
	dir := t.TempDir()
	args := []string{"build", "-tags", tags, "-o", dir}
	for _, p := range programs {
		args = append(args, "./"+p)
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)

	for _, p := range programs {
		t.Run(p, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", p+"-"+variant+".txt"))
			if os.IsNotExist(err) {
				want, err = os.ReadFile(filepath.Join("testdata", p+".txt"))
			}
			require.NoError(t, err)
			cmd := exec.Command(filepath.Join(dir, p))
			cmd.Env = append(os.Environ(), env...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Run(), "%s", &stderr)
			require.Equal(t, string(want), stdout.String())
			require.Empty(t, stderr.String())
		})
	}
}

func TestMainsAreShort(t *testing.T) {
	for _, p := range programs {
		text, err := os.ReadFile(filepath.Join(p, "main.go"))
		require.NoError(t, err)
		require.Less(t, bytes.Count(text, []byte("\n")), 60, "%s/main.go", p)
	}
}
