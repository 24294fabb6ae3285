package compute

import (
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/output"
)

// newBuffer is a buffer of n bytes for a result that will be written in full.
func newBuffer(mem arrowmem.Allocator, n int) (*arrowmem.Buffer, error) { return output.Buffer(mem, n) }

// recoverMemory turns an allocator's panic about memory into an error; other panics go on.
func recoverMemory(err *error) {
	if p := recover(); p != nil {
		*err = output.MemoryError(p)
	}
}

// allocatorError is an error of the caller's allocator, which says nothing of the device.
type allocatorError struct{ error }

func (e allocatorError) Unwrap() error { return e.error }
