//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapHost maps size zero bytes, on a huge page where the system has them, and returns how to unmap them.
func mapHost(size int) (mem []byte, unmap func(), err error) {
	all, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	at := 0
	if hugePage > 0 {
		at = -int(uintptr(unsafe.Pointer(unsafe.SliceData(all)))) & (hugePage - 1)
	}
	mem = all[at : at+size : at+size]
	adviseHuge(mem)
	return mem, func() { _ = unix.Munmap(all) }, nil
}
