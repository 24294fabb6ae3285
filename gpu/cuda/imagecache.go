//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// envCache names the folder of compiled kernels; "off" means none.
const envCache = "BROADHEAD_CUDA_CACHE"

const (
	imageMagic  = "broadhead cuda image 1\n"
	imageSuffix = ".image"
	// cacheLimit is how many bytes of images are kept; the least recently used go first, down to cacheFloor.
	cacheLimit = 256 << 20
	cacheFloor = cacheLimit / 4 * 3
	// trimEvery is how many images a process stores between two looks at the limit.
	trimEvery = 64
	// freshFor is for how long a use is not noted again.
	freshFor = time.Hour
	// staleAfter is when a temporary name was left by a process that died.
	staleAfter = time.Hour
)

// imageCache keeps compiled kernels in files, so that a program's next start compiles nothing. An image is loaded only
// if its SHA-256 is right, since the driver may crash on a damaged one. Whatever goes wrong, the kernel is compiled.
type imageCache struct {
	dir    string // "" if there is none
	stored atomic.Int64
	hits   atomic.Int64
	misses atomic.Int64
}

// openImageCache finds the folder, once.
var openImageCache = sync.OnceValue(func() *imageCache {
	dir := os.Getenv(envCache)
	switch dir {
	case "off":
		return new(imageCache)
	case "":
		user, err := os.UserCacheDir()
		if err != nil {
			return new(imageCache)
		}
		dir = filepath.Join(user, "broadhead", "cuda")
	}
	return newImageCache(dir)
})

// newImageCache makes a cache in a folder that is ours alone; in another it keeps nothing, because whoever can write
// there could have any code run on the device.
func newImageCache(dir string) *imageCache {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return new(imageCache)
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || !ours(info) {
		return new(imageCache)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 && os.Chmod(dir, 0o700) != nil && perm&0o022 != 0 {
		return new(imageCache)
	}
	return &imageCache{dir: dir}
}

func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// imageKey names an image: the hash of everything it depends on.
func imageKey(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// get returns an image, nil if there is none that is whole. One that is not is removed.
func (c *imageCache) get(key string) []byte {
	if c.dir == "" {
		return nil
	}
	path := filepath.Join(c.dir, key+imageSuffix)
	file, err := readOwn(path)
	if err != nil {
		c.misses.Add(1)
		return nil
	}
	image, ok := unpack(key, file)
	if !ok {
		c.drop(key)
		c.misses.Add(1)
		return nil
	}
	c.hits.Add(1)
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > freshFor {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // at worst the file goes earlier
	}
	return image
}

// readOwn reads a file of ours.
func readOwn(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !ours(info) || info.Size() > cacheLimit {
		return nil, errors.New("cuda: not a file of this cache")
	}
	return os.ReadFile(path)
}

// pack puts before an image the hash of it and its key, so that an image under another's name is none.
func pack(key string, image []byte) []byte {
	sum := imageSum(key, image)
	return slices.Concat([]byte(imageMagic), sum[:], image)
}

func imageSum(key string, image []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(key), image...))
}

func unpack(key string, file []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(file, []byte(imageMagic))
	if !ok || len(rest) <= sha256.Size {
		return nil, false
	}
	image := rest[sha256.Size:]
	sum := imageSum(key, image)
	return image, bytes.Equal(sum[:], rest[:sha256.Size])
}

// put stores an image under a temporary name and renames it, so that readers see all of it or nothing.
func (c *imageCache) put(key string, image []byte) {
	if c.dir == "" {
		return
	}
	f, err := os.CreateTemp(c.dir, "new-*")
	if err != nil {
		return
	}
	_, err = f.Write(pack(key, image))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(c.dir, key+imageSuffix))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	if c.stored.Add(1)%trimEvery == 1 {
		c.trim(cacheLimit, cacheFloor)
	}
}

// drop removes an image that does not serve.
func (c *imageCache) drop(key string) {
	if c.dir != "" {
		_ = os.Remove(filepath.Join(c.dir, key+imageSuffix))
	}
}

// trim removes the least recently used images when there are more than limit bytes, until floor are left, and what
// processes that died left behind.
func (c *imageCache) trim(limit, floor int64) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var images []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case strings.HasSuffix(e.Name(), imageSuffix):
			images = append(images, info)
			total += info.Size()
		case strings.HasPrefix(e.Name(), "new-") && time.Since(info.ModTime()) > staleAfter:
			_ = os.Remove(filepath.Join(c.dir, e.Name()))
		}
	}
	if total <= limit {
		return
	}
	slices.SortFunc(images, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, info := range images {
		if total <= floor {
			return
		}
		if os.Remove(filepath.Join(c.dir, info.Name())) == nil {
			total -= info.Size()
		}
	}
}
