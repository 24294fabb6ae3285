//go:build linux && (amd64 || arm64)

package cuda

import (
	"bufio"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	pageSize = 4096
	hugePage = 2 << 20
	// touchShare is how much of an allocation one goroutine touches.
	touchShare = 64 << 20
	// largeHost is from where on an allocation asks first whether the system has the memory.
	largeHost = 64 << 20
)

// takeHost maps memory, touches its pages and pins them, which takes a twentieth of the time that the driver's own
// allocator takes. Where pinning is refused (a limit on locked memory, say) the driver's allocator is asked.
func (b *buffer) takeHost(s *session) error {
	if b.mapPinned(s) {
		return nil
	}
	st := s.call(cuMemHostAlloc, s.result(0), uintptr(b.n), hostRegisterPortable|hostRegisterDeviceMapped)
	if st != success {
		return b.dev.memoryError(st, b.n)
	}
	host := s.out[0]
	if st := s.call(cuMemHostGetDevicePointer, s.result(0), host, 0); st != success {
		s.call(cuMemFreeHost, host)
		return b.dev.memoryError(st, b.n)
	}
	b.at, b.host = s.out[0], unsafe.Slice((*byte)(pointer(host)), b.n)
	b.free = func(s *session) { s.call(cuMemFreeHost, host) }
	return nil
}

// mapPinned says whether it could.
func (b *buffer) mapPinned(s *session) bool {
	size, align := (b.n+pageSize-1)&^(pageSize-1), 0
	if size >= hugePage {
		align = hugePage
	}
	raw, err := unix.Mmap(-1, 0, size+align, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	mem := raw[:size]
	if align > 0 {
		at := int(-address(raw) & (hugePage - 1))
		mem = raw[at : at+size]
		_ = unix.Madvise(mem, unix.MADV_HUGEPAGE) // ordinary pages are as correct
	}
	touch(mem)
	if st := s.call(cuMemHostRegister, address(mem), uintptr(size), hostRegisterPortable|hostRegisterDeviceMapped); st != success {
		_ = unix.Munmap(raw)
		return false
	}
	if st := s.call(cuMemHostGetDevicePointer, s.result(0), address(mem), 0); st != success {
		s.call(cuMemHostUnregister, address(mem))
		_ = unix.Munmap(raw)
		return false
	}
	b.at, b.host = s.out[0], mem[:b.n:b.n]
	b.raw, b.free = raw, func(s *session) { s.call(cuMemHostUnregister, address(mem)) }
	return true
}

// touch makes the system give pages their memory, which it does faster on several processors.
func touch(mem []byte) {
	workers := min(runtime.GOMAXPROCS(0), (len(mem)+touchShare-1)/touchShare)
	if workers <= 1 {
		touchPages(mem)
		return
	}
	share := (len(mem)/workers + hugePage) &^ (hugePage - 1)
	var all sync.WaitGroup
	for ; len(mem) > 0; mem = mem[min(share, len(mem)):] {
		part := mem[:min(share, len(mem))]
		all.Go(func() { touchPages(part) })
	}
	all.Wait()
}

func touchPages(mem []byte) {
	if unix.Madvise(mem, unix.MADV_POPULATE_WRITE) == nil {
		return
	}
	for i := 0; i < len(mem); i += pageSize { // kernels before 5.14
		mem[i] = 0
	}
}

// hostAvailable is how much memory the system can give without killing somebody; it may not be known.
func hostAvailable() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			if kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return math.MaxInt64 / 2
}
