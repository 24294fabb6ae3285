package memory

import (
	"runtime"
	"sync"

	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
)

// NewBuffer returns a buffer of n bytes that are not initialized: the caller must write all of Buf, which is n rounded
// up to 64. Its block is freed by Release at reference count zero, or when the buffer becomes unreachable, whichever
// is first. Errors are those of TryAllocateUninitialized.
func (a *Allocator) NewBuffer(n int) (*arrowmemory.Buffer, error) {
	size := n
	if 0 < n && n <= maxBlock {
		size = roundUp(n, 64) // arrow-go's Resize asks for this
	}
	data, err := a.TryAllocateUninitialized(size)
	if err != nil {
		return nil, err
	}
	o := &owner{mem: a, ready: data}
	o.hold(data)
	buf := arrowmemory.NewResizableBuffer(o)
	buf.Resize(n)
	runtime.AddCleanup(buf, (*owner).drop, o)
	return buf, nil
}

// owner is the allocator that a buffer from NewBuffer sees. It knows the buffer's block, and so can free it when the
// buffer is gone; it never refers to the buffer.
type owner struct {
	mem *Allocator

	mu    sync.Mutex // the cleanup runs on a goroutine of the runtime
	ready []byte     // handed out by the first Allocate
	blk   block
}

// hold notes that b is the buffer's block.
func (o *owner) hold(b []byte) {
	o.blk, _ = o.mem.blockOf(b)
	if o.blk.span != nil {
		o.mem.collector.held.Add(int64(o.blk.span.size))
	}
}

// letGo notes that the block is freed.
func (o *owner) letGo() {
	if o.blk.span != nil {
		o.mem.collector.held.Add(-int64(o.blk.span.size))
		o.blk = block{}
	}
}

func (o *owner) Allocate(n int) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b := o.ready; len(b) == n {
		o.ready = nil
		return b
	}
	b := o.mem.Allocate(n)
	o.hold(b)
	return b
}

func (o *owner) Reallocate(n int, b []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	b = o.mem.Reallocate(n, b)
	o.letGo()
	o.hold(b)
	return b
}

func (o *owner) Free(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.letGo()
	o.mem.Free(b)
}

// drop runs when the buffer is unreachable.
func (o *owner) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if blk := o.blk; blk.span != nil {
		o.letGo()
		o.mem.free(blk)
	}
}
