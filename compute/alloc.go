package compute

import (
	"errors"
	"fmt"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// newBuffer is a buffer of n bytes for a result that will be written in full. Bytes past n are zeroed up to the
// buffer's capacity's last partial line, so that nothing uninitialised is ever written to a file.
func newBuffer(mem arrowmem.Allocator, n int) (b *arrowmem.Buffer, err error) {
	defer recoverMemory(&err)
	if a, ok := mem.(*memory.Allocator); ok {
		return a.NewBuffer(n)
	}
	b = arrowmem.NewResizableBuffer(mem)
	b.Resize(n)
	if tail := b.Buf()[n:]; len(tail) > 0 {
		clear(tail[:min(len(tail), 64)])
	}
	return b, nil
}

// allocatorError is an error of the caller's allocator, which says nothing of the device.
type allocatorError struct{ error }

func (e allocatorError) Unwrap() error { return e.error }

// recoverMemory turns an allocator's panic about memory into an error; other panics go on.
func recoverMemory(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		if !errors.Is(p, gpu.ErrOutOfMemory) && !errors.Is(p, gpu.ErrClosed) {
			panic(p)
		}
		*err = fmt.Errorf("compute: %w", p)
	default:
		panic(p)
	}
}
