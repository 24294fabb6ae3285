package memory

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
)

// fakeDevice implements the part of gpu.Device that allocation uses, by the letter of the contract: memory is aligned
// to 128 bytes and no more, and holds something.
type fakeDevice struct {
	gpu.Device // the rest is not called

	info gpu.Info

	mu     sync.Mutex
	allocs []int // sizes, in order
	live   int64
	budget int64 // of live; 0 is none
	fail   error // what Alloc returns, if set
}

type fakeBuffer struct {
	dev  *fakeDevice
	host []byte
	gone bool
}

func (d *fakeDevice) Info() gpu.Info {
	if d.info.Name == "" {
		return gpu.Info{Driver: "fake", Name: "fake", Unified: true, SIMDWidth: 32, PageSize: 16384}
	}
	return d.info
}

func (d *fakeDevice) Alloc(size int, place gpu.Place) (gpu.Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.allocs = append(d.allocs, size)
	if d.fail != nil {
		return nil, d.fail
	}
	if d.budget > 0 && d.live+int64(size) > d.budget {
		return nil, fmt.Errorf("fake: %d bytes: %w", size, gpu.ErrOutOfMemory)
	}
	all := make([]byte, size+256)
	at := -int(uintptr(unsafe.Pointer(unsafe.SliceData(all)))) & 127
	host := all[at : at+size : at+size]
	for i := 0; i < len(host); i += 64 {
		host[i] = 0xAA
	}
	d.live += int64(size)
	return &fakeBuffer{dev: d, host: host}, nil
}

func (d *fakeDevice) calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.allocs)
}

func (d *fakeDevice) set(f func(*fakeDevice)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

func (b *fakeBuffer) Host() []byte { return b.host }
func (b *fakeBuffer) Len() int     { return len(b.host) }

func (b *fakeBuffer) Release() {
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	if b.gone {
		panic("fake: buffer released twice")
	}
	b.gone = true
	b.dev.live -= int64(len(b.host))
}
