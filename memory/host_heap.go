//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package memory

import (
	"fmt"
	"unsafe"
)

// mapHost takes the memory from the Go heap, whose objects do not move; the arena keeps it reachable.
func mapHost(size int) (mem []byte, unmap func(), err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r) // the size is beyond what make accepts
		}
	}()
	all := make([]byte, size+pageSize)
	at := -int(uintptr(unsafe.Pointer(unsafe.SliceData(all)))) & (pageSize - 1)
	return all[at : at+size : at+size], nil, nil
}
