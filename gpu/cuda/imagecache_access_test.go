//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/broadhead-go/broadhead/gpu"
)

// withoutRights runs f as somebody who may neither read the folder's files nor write there. Root loses its rights over
// files on one thread, which ends with the goroutine.
func withoutRights(t *testing.T, dir, file string, f func()) {
	t.Helper()
	require.NoError(t, os.Chmod(file, 0))
	require.NoError(t, os.Chmod(dir, 0o500))
	defer func() {
		require.NoError(t, os.Chmod(dir, 0o700))
		require.NoError(t, os.Chmod(file, 0o600))
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			_ = unix.Setfsuid(65534)
		}
		f()
	}()
	<-done
}

// TestFilesWithoutRights has a folder that cannot be written and a file that cannot be read: kernels are compiled, and
// nothing changes on the disk.
func TestFilesWithoutRights(t *testing.T) {
	c := newImageCache(t.TempDir())
	known, other := imageKey("known"), imageKey("other")
	c.put(known, []byte("an image"))
	path := filepath.Join(c.dir, known+imageSuffix)
	withoutRights(t, c.dir, path, func() {
		_, err := os.ReadFile(path)
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("the file can be read: %v", err)
		}
		if c.get(known) != nil {
			t.Error("an image that cannot be read")
		}
		c.put(other, []byte("another"))
		if c.get(other) != nil {
			t.Error("an image that cannot be stored")
		}
		c.drop(known)
		c.trim(0, 0)
	})
	require.Equal(t, []byte("an image"), c.get(known), "it is there for those who may read it")
	left, err := os.ReadDir(c.dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// TestForeignFiles sees that what another user has written is not loaded, nor a folder used that is another's or that
// others may write to.
func TestForeignFiles(t *testing.T) {
	c := newImageCache(t.TempDir())
	key := imageKey("k")
	c.put(key, []byte("an image"))
	info, err := os.Stat(filepath.Join(c.dir, key+imageSuffix))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	for _, mode := range []os.FileMode{0o777, 0o755, 0o711} {
		require.NoError(t, os.Chmod(c.dir, mode))
		require.Equal(t, c.dir, newImageCache(c.dir).dir)
		info, err := os.Stat(c.dir)
		require.NoError(t, err)
		require.EqualValues(t, 0o700, info.Mode().Perm())
	}
	if os.Geteuid() != 0 { // nobody else can give files away
		return
	}
	require.NoError(t, os.Chown(filepath.Join(c.dir, key+imageSuffix), 65534, 65534))
	require.Nil(t, c.get(key))
	require.NoError(t, os.Chown(c.dir, 65534, 65534))
	require.Empty(t, newImageCache(c.dir).dir)
}

// TestImagesThatDoNotLoad has whole files of the right key whose images the driver refuses: the kernel is compiled anew,
// the file replaced, and the device works.
func TestImagesThatDoNotLoad(t *testing.T) {
	w := startSoftware(t)
	key := softwareKey(t, w)
	d := w.device(t)
	require.NoError(t, work(d))
	require.NoError(t, d.Close())
	good := w.images.get(key)
	require.NotNil(t, good)
	w.images.put(key, append(make([]byte, 8), "no library"...))
	d = w.device(t)
	require.NoError(t, work(d))
	require.NoError(t, d.Close())
	require.Equal(t, len(good), len(w.images.get(key)))
	for _, st := range []status{errorInvalidImage, errorNoBinary, errorInvalidPTX, errorUnsupportedPTX} {
		d = w.device(t)
		w.fail("cuModuleLoadData", 1, st)
		require.NoError(t, work(d), "status %d", st)
		require.NoError(t, d.Close())
	}
	d = w.device(t)
	w.fail("cuModuleGetFunction", 1, errorNotFound)
	require.NoError(t, work(d))
	require.NoError(t, d.Close())
}

// envSoftware names the library that a process started by TestColdStartInSoftware takes for the driver's.
const envSoftware = "BROADHEAD_TEST_SOFTWARE"

var softwareStartLine = regexp.MustCompile(`(\d+) compiled, (\d+) from the cache`)

// TestColdStartInSoftware starts eight processes at once on an empty cache, and then one that must compile nothing.
func TestColdStartInSoftware(t *testing.T) {
	if lib := os.Getenv(envSoftware); lib != "" {
		startCold(t, lib)
		return
	}
	w := startSoftware(t)
	require.NotNil(t, w)
	cache := filepath.Join(t.TempDir(), "cache")
	run := func() (compiled, cached int) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestColdStartInSoftware$")
		cmd.Env = append(os.Environ(), envSoftware+"="+filepath.Join(softwareFolder, "libsoftware.so"), envCache+"="+cache)
		out, err := cmd.CombinedOutput()
		m := softwareStartLine.FindStringSubmatch(string(out))
		if err != nil || m == nil {
			t.Errorf("%v: %s", err, out)
			return 0, 0
		}
		compiled, _ = strconv.Atoi(m[1])
		cached, _ = strconv.Atoi(m[2])
		return compiled, cached
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if compiled, cached := run(); compiled+cached != 1 {
				t.Errorf("%d kernels", compiled+cached)
			}
		})
	}
	all.Wait()
	compiled, cached := run()
	require.Zero(t, compiled)
	require.Equal(t, 1, cached)
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, left, 1, "one image, and no temporary file")
}

// startCold compiles and runs one kernel.
func startCold(t *testing.T, lib string) {
	library, err := purego.Dlopen(lib, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	require.NoError(t, err)
	w := &software{library: library, images: openImageCache()}
	w.start(t.TempDir())
	w.drv, err = newDriver([]string{lib})
	require.NoError(t, err)
	devices, err := w.drv.open(func() (tools, error) {
		c, err := newNVRTC([]string{lib})
		return tools{compiler: c, images: w.images}, err
	})
	require.NoError(t, err)
	d := devices[0]
	p, err := d.Compile(gpu.Source{Name: "add_one", Text: addOne})
	require.NoError(t, err)
	p.Release()
	for _, d := range devices {
		require.NoError(t, d.Close())
	}
	fmt.Printf("%d compiled, %d from the cache\n", w.images.misses.Load(), w.images.hits.Load())
}
