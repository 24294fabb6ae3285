//go:build linux

package emulator

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeCompiler is a script that notes each compilation in a log.
func fakeCompiler(t *testing.T, seconds string) (log string) {
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	script := filepath.Join(dir, "cxx")
	text := `#!/bin/sh
if [ "$1" = --version ]; then echo fake; exit; fi
echo "$@" >> ` + log + `
sleep ` + seconds + `
while [ "$1" != -o ]; do shift; done
echo library > "$2"
`
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CXX", script)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	return log
}

func TestBuildOnceForAll(t *testing.T) {
	log := fakeCompiler(t, "0.2")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			path, err := Build(context.Background())
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "include", "metal_stdlib")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 1 {
		t.Errorf("compiled %d times", n)
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	fakeCompiler(t, "10")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := Build(ctx); err == nil {
		t.Error("no error")
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("returned after %v", d)
	}
}

// Kernels that nobody has used for long go out of the cache.
func TestKernelCacheIsPruned(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stale, fresh := filepath.Join(dir, "stale.so"), filepath.Join(dir, "fresh.so")
	for path, age := range map[string]time.Duration{stale: 20 * 24 * time.Hour, fresh: time.Hour} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(self, "-test.run=^TestNamespaceIsNotImplied$")
	cmd.Env = append(os.Environ(), "METALEMU_CACHE="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("the stale kernel is there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
}

func TestBuildWithoutCompiler(t *testing.T) {
	t.Setenv("CXX", "no-such-compiler")
	if _, err := Build(context.Background()); err == nil || !strings.Contains(err.Error(), "apt-get install g++") {
		t.Errorf("error %v", err)
	}
	t.Setenv("CXX", "false")
	if _, err := Build(context.Background()); err == nil || !strings.Contains(err.Error(), "--version") {
		t.Errorf("error %v", err)
	}
}
