// Package output makes the buffers and arrays that results are.
package output

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// Buffer is a buffer of n bytes for a result that will be written in full. Bytes past n are zeroed up to the buffer's
// capacity's last partial line, so that nothing uninitialised is ever written to a file.
func Buffer(mem arrowmem.Allocator, n int) (*arrowmem.Buffer, error) {
	b := new(arrowmem.Buffer)
	if err := initBuffer(mem, b, n); err != nil {
		return nil, err
	}
	return b, nil
}

// initBuffer makes b, which is new, what Buffer returns.
func initBuffer(mem arrowmem.Allocator, b *arrowmem.Buffer, n int) (err error) {
	if a, ok := mem.(*memory.Allocator); ok {
		return a.InitBuffer(b, n)
	}
	defer func() {
		if p := recover(); p != nil {
			err = MemoryError(p)
		}
	}()
	// An assignment, but for vet, to which a reference count is a lock.
	copy(unsafe.Slice(b, 1), unsafe.Slice(arrowmem.NewResizableBuffer(mem), 1))
	b.Resize(n)
	if tail := b.Buf()[n:]; len(tail) > 0 {
		clear(tail[:min(len(tail), 64)])
	}
	return nil
}

// MemoryError is what an allocator's panic about memory says; other panics go on.
func MemoryError(panicked any) error {
	err, ok := panicked.(error)
	if !ok || !errors.Is(err, gpu.ErrOutOfMemory) && !errors.Is(err, gpu.ErrClosed) {
		panic(panicked)
	}
	return fmt.Errorf("compute: %w", err)
}

// Array is a result of one buffer of values: all that it consists of in one object, since small calls cost what they
// allocate.
type Array struct {
	datum  ac.ArrayDatum
	data   array.Data
	bufs   [2]*arrowmem.Buffer // validity, or nil, and values
	values arrowmem.Buffer
}

// New is an array with room for so many bytes of values, which are not initialised.
func New(mem arrowmem.Allocator, bytes int) (*Array, error) {
	a := new(Array)
	if err := initBuffer(mem, &a.values, bytes); err != nil {
		return nil, err
	}
	a.bufs[1] = &a.values
	return a, nil
}

// Values are the bytes of the values.
func (a *Array) Values() []byte { return a.values.Bytes() }

// AddValidity gives the array a validity bitmap for n rows, which is not initialised.
func (a *Array) AddValidity(mem arrowmem.Allocator, n int) ([]byte, error) {
	b, err := Buffer(mem, (n+7)/8)
	if err != nil {
		return nil, err
	}
	a.bufs[0] = b
	return b.Bytes(), nil
}

// Release gives up an array that will not be finished.
func (a *Array) Release() {
	a.values.Release()
	if a.bufs[0] != nil {
		a.bufs[0].Release()
	}
}

// Finish makes array data of n rows of type t of the buffers, which are its own from then on, and of others that the
// values refer to.
func (a *Array) Finish(t arrow.DataType, n, nulls int, more ...*arrowmem.Buffer) *ac.ArrayDatum {
	bufs := a.bufs[:]
	if len(more) > 0 {
		bufs = append(bufs[:2:2], more...)
	}
	a.data.Reset(t, n, bufs, nil, nulls, 0)
	a.data.Retain()
	a.Release() // the data retains what it has
	a.datum.Value = &a.data
	return &a.datum
}

// SetDictionary gives a finished array its dictionary.
func (a *Array) SetDictionary(d *array.Data) { a.data.SetDictionary(d) }
