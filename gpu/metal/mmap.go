//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"syscall"
	"unsafe"
)

// mapping is zeroed memory outside the Go heap, which the GPU may use after a call returned.
type mapping struct {
	raw  []byte
	page []byte // raw's part that starts and ends on a Metal page
}

// mapMemory maps at least n bytes. The pages cost nothing until they are touched.
func mapMemory(n int) (mapping, error) {
	n = pageUp(n)
	spare := max(0, pageSize-syscall.Getpagesize()) // the system aligns to its own page only
	raw, err := syscall.Mmap(-1, 0, n+spare, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return mapping{}, err
	}
	from := int(-address(raw) & (pageSize - 1))
	return mapping{raw, raw[from : from+n : from+n]}, nil
}

// unmap gives the memory back. Unmapping what mapMemory mapped does not fail.
func (m mapping) unmap() { _ = syscall.Munmap(m.raw) }

func pageUp(n int) int { return (n + pageSize - 1) &^ (pageSize - 1) }

// address is where b starts.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
