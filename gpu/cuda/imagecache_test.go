//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestImageCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	c := newImageCache(dir)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	key := imageKey("k", "text")
	require.Nil(t, c.get(key))
	image := bytes.Repeat([]byte("image"), 1000)
	c.put(key, image)
	require.Equal(t, image, c.get(key))
	require.Equal(t, image, newImageCache(dir).get(key), "another process")
	c.put(key, image)
	require.Equal(t, image, c.get(key))
	c.drop(key)
	require.Nil(t, c.get(key))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestImageKey(t *testing.T) {
	require.Equal(t, imageKey("a", "b"), imageKey("a", "b"))
	require.NotEqual(t, imageKey("a", "b"), imageKey("ab", ""))
	require.NotEqual(t, imageKey("a"), imageKey("a", ""))
}

// TestDamagedImages sees that no file but a whole one of the right key is used, and that a damaged one goes.
func TestDamagedImages(t *testing.T) {
	dir := t.TempDir()
	c := newImageCache(dir)
	key := imageKey("k")
	path := filepath.Join(dir, key+imageSuffix)
	image := []byte("an image")
	whole := pack(key, image)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	for name, file := range map[string][]byte{
		"empty": {}, "no image": whole[:len(imageMagic)+32], "truncated": whole[:len(whole)-1], "flipped": flipped,
		"longer": append(bytes.Clone(whole), 0), "another's": pack(imageKey("other"), image), "text": []byte("hello"),
	} {
		require.NoError(t, os.WriteFile(path, file, 0o600))
		require.Nil(t, c.get(key), name)
		require.NoFileExists(t, path, name)
		c.put(key, image)
		require.Equal(t, image, c.get(key), name)
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), path))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "elsewhere"), whole, 0o600))
	require.Nil(t, c.get(key), "a link")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	require.Nil(t, c.get(key), "a folder")
	c.put(key, image) // cannot
	require.Nil(t, c.get(key))
}

// TestFoldersThatCannotServe gives caches that keep nothing, and harm nothing.
func TestFoldersThatCannotServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(t.TempDir(), link))
	gone := newImageCache(filepath.Join(t.TempDir(), "gone"))
	require.NoError(t, os.Remove(gone.dir))
	for name, c := range map[string]*imageCache{
		"a file": newImageCache(file), "below a file": newImageCache(filepath.Join(file, "x")), "a link": newImageCache(link),
		"removed": gone, "none": new(imageCache),
	} {
		c.put(imageKey("k"), []byte("image"))
		require.Nil(t, c.get(imageKey("k")), name)
		c.drop(imageKey("k"))
		c.trim(0, 0)
	}
	shared := t.TempDir()
	require.NoError(t, os.Chmod(shared, 0o777))
	require.Equal(t, shared, newImageCache(shared).dir)
	info, err := os.Stat(shared)
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm(), "others must not write here")
}

func TestTrim(t *testing.T) {
	c := newImageCache(t.TempDir())
	image := make([]byte, 1000)
	size := int64(len(pack("", image)))
	old := time.Now().Add(-2 * staleAfter)
	for i := range 10 {
		key := fmt.Sprint("k", i)
		c.put(key, image)
		when := old.Add(time.Duration((i*7)%10) * time.Second)
		require.NoError(t, os.Chtimes(filepath.Join(c.dir, key+imageSuffix), when, when))
	}
	stale, fresh := filepath.Join(c.dir, "new-1"), filepath.Join(c.dir, "new-2")
	require.NoError(t, os.WriteFile(stale, nil, 0o600))
	require.NoError(t, os.WriteFile(fresh, nil, 0o600))
	require.NoError(t, os.Chtimes(stale, old, old))
	require.NotNil(t, c.get("k0"), "the oldest; its use is noted")
	c.trim(10*size, 0)
	require.NoFileExists(t, stale)
	require.FileExists(t, fresh)
	require.NotNil(t, c.get("k3"))
	c.trim(9*size, 4*size)
	for i := range 10 {
		kept := i == 0 || i == 3 || (i*7)%10 >= 8
		require.Equal(t, kept, c.get(fmt.Sprint("k", i)) != nil, "k%d", i)
	}
}

// TestManyProcesses has caches over one folder store, read and trim at once.
func TestManyProcesses(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for p := range 8 {
		all.Go(func() {
			c := newImageCache(dir)
			for i := range 50 {
				key, image := fmt.Sprint("k", i%10), bytes.Repeat([]byte{byte(i % 10)}, 5000)
				if got := c.get(key); got != nil && !bytes.Equal(got, image) {
					t.Errorf("process %d: image %d is another's", p, i)
				}
				c.put(key, image)
				if i%20 == p {
					c.trim(20000, 10000)
				}
			}
		})
	}
	all.Wait()
	left, err := filepath.Glob(filepath.Join(dir, "new-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestPoolSize(t *testing.T) {
	for n, want := range map[int]int{
		1: 512, 512: 512, 513: 1024, 1 << 20: 1 << 20, 1<<20 + 1: 2 << 20, 2 << 20: 2 << 20, 2<<20 + 1: 4 << 20, 7 << 20: 8 << 20,
	} {
		require.Equal(t, want, poolSize(n), "%d bytes", n)
	}
}
