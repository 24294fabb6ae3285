package memory

import (
	"runtime"
	"unsafe"

	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
)

// NewBuffer returns a buffer of n bytes that are not initialized: the caller must write all of Buf, which is n rounded
// up to 64. Its block is freed by Release at reference count zero, or when the buffer becomes unreachable, whichever
// is first. Errors are those of TryAllocateUninitialized.
func (a *Allocator) NewBuffer(n int) (*arrowmemory.Buffer, error) {
	buf := new(arrowmemory.Buffer)
	if err := a.InitBuffer(buf, n); err != nil {
		return nil, err
	}
	return buf, nil
}

// InitBuffer makes buf, which must be new, what NewBuffer returns: for buffers that are fields, so that a result and all
// that belongs to it is one object.
func (a *Allocator) InitBuffer(buf *arrowmemory.Buffer, n int) error {
	size := n
	if 0 < n && n <= maxBlock {
		size = roundUp(n, 64) // arrow-go's Resize asks for this
	}
	o := &owner{mem: a}
	if size != 0 {
		t, err := a.allocate(size)
		if err != nil {
			return err
		}
		if poisoned {
			poison(t.bytes(t.span.size))
		}
		o.hold(t.block)
		o.ready = true
	}
	// An assignment, but for vet, to which a reference count is a lock.
	copy(unsafe.Slice(buf, 1), unsafe.Slice(arrowmemory.NewResizableBuffer(o), 1))
	buf.Resize(n)
	return nil
}

// owner is the allocator that a buffer from NewBuffer sees. It knows the buffer's block, and its finalizer frees the
// block when the buffer, which alone refers to it, is gone. Finalizers that are taken back before they run cost next to
// nothing, unlike cleanups, and a released buffer's is. It never refers to the buffer.
type owner struct {
	mem   *Allocator
	blk   block
	ready bool // the first Allocate hands out the block that is there
}

// hold notes that b is the buffer's block, which is none if it has no span.
func (o *owner) hold(b block) {
	if o.blk = b; b.span != nil {
		o.mem.collector.held.Add(int64(b.span.size))
		runtime.SetFinalizer(o, (*owner).drop)
	}
}

// letGo notes that the block is freed.
func (o *owner) letGo() {
	if o.blk.span != nil {
		runtime.SetFinalizer(o, nil)
		o.mem.collector.held.Add(-int64(o.blk.span.size))
		o.blk = block{}
	}
}

func (o *owner) Allocate(n int) []byte {
	if o.ready {
		o.ready = false
		return o.blk.bytes(n)
	}
	b := o.mem.Allocate(n)
	blk, _ := o.mem.blockOf(b)
	o.letGo()
	o.hold(blk)
	return b
}

func (o *owner) Reallocate(n int, b []byte) []byte {
	b = o.mem.Reallocate(n, b)
	blk, _ := o.mem.blockOf(b)
	o.letGo()
	o.hold(blk)
	return b
}

// Free frees the block. It is the buffer's, unless the buffer was given other bytes, which the allocator then reports.
func (o *owner) Free(b []byte) {
	blk, ours := o.blk, o.blk.span != nil && len(b) > 0 && unsafe.SliceData(b) == unsafe.SliceData(o.blk.bytes(1))
	o.letGo()
	if !ours || !o.mem.free(blk) {
		o.mem.Free(b)
	}
}

// drop runs when the buffer is unreachable.
func (o *owner) drop() {
	blk := o.blk
	o.mem.collector.held.Add(-int64(blk.span.size))
	o.mem.free(blk)
}
