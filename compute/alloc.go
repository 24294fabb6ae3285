package compute

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

// newBuffer is a buffer of n bytes for a result that will be written in full. Bytes past n are zeroed up to the
// buffer's capacity's last partial line, so that nothing uninitialised is ever written to a file.
func newBuffer(mem arrowmem.Allocator, n int) (*arrowmem.Buffer, error) {
	b := new(arrowmem.Buffer)
	if err := initBuffer(mem, b, n); err != nil {
		return nil, err
	}
	return b, nil
}

// initBuffer makes b, which is new, what newBuffer returns.
func initBuffer(mem arrowmem.Allocator, b *arrowmem.Buffer, n int) (err error) {
	if a, ok := mem.(*memory.Allocator); ok {
		return a.InitBuffer(b, n)
	}
	defer recoverMemory(&err)
	// An assignment, but for vet, to which a reference count is a lock.
	copy(unsafe.Slice(b, 1), unsafe.Slice(arrowmem.NewResizableBuffer(mem), 1))
	b.Resize(n)
	if tail := b.Buf()[n:]; len(tail) > 0 {
		clear(tail[:min(len(tail), 64)])
	}
	return nil
}

// product is a result of one buffer of values: all that it consists of in one object, since small calls cost what they
// allocate.
type product struct {
	datum  ac.ArrayDatum
	data   array.Data
	bufs   [2]*arrowmem.Buffer // validity, or nil, and values
	values arrowmem.Buffer
}

// newProduct is a product with room for so many bytes of values, which are not initialised.
func newProduct(mem arrowmem.Allocator, bytes int) (*product, error) {
	p := new(product)
	if err := initBuffer(mem, &p.values, bytes); err != nil {
		return nil, err
	}
	p.bufs[1] = &p.values
	return p, nil
}

// addValidity gives the product a validity bitmap for n rows, which is not initialised.
func (p *product) addValidity(mem arrowmem.Allocator, n int) (err error) {
	p.bufs[0], err = newBuffer(mem, (n+7)/8)
	return err
}

// release gives up a product that will not be finished.
func (p *product) release() {
	p.values.Release()
	if p.bufs[0] != nil {
		p.bufs[0].Release()
	}
}

// finish makes array data of n rows of type t of the buffers, which are its own from then on.
func (p *product) finish(t arrow.DataType, n, nulls int) *ac.ArrayDatum {
	p.data.Reset(t, n, p.bufs[:], nil, nulls, 0)
	p.data.Retain()
	p.release() // the data retains what it has
	p.datum.Value = &p.data
	return &p.datum
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
