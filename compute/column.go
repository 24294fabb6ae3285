package compute

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Column is a column that a Batch left on its device, or one that ToDevice brought there.
//
// On a device with memory of its own the device alone has what a Batch kept, until Array or Datum asks for it or the
// device needs the room: then it is copied to the host. If the device is lost before, the column is lost too, and what
// asks for it gets gpu.ErrDeviceLost. On unified memory a column shares the memory of its array.
type Column struct {
	mu      sync.Mutex
	from    *Value // nil for what ToDevice made
	data    Datum
	kept    *kept // instead of data
	pinned  []*resident
	gone    bool
	cleanup runtime.Cleanup // of kept, if nobody releases the column
}

var errReleased = fmt.Errorf("%w: the column was released", arrow.ErrInvalid)

// argument is what calls get: the column's datum, or its device memory where only that has it. The caller releases it.
func (c *Column) argument() (Datum, *kept, error) {
	if c.from != nil {
		c.from.batch.mu.Lock()
		defer c.from.batch.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept != nil {
		c.kept.retain()
		return nil, c.kept, nil
	}
	if c.gone || c.data == nil && c.from == nil {
		return nil, nil, errReleased
	}
	if c.data == nil {
		d, err := c.from.datum()
		if err != nil {
			return nil, nil, err
		}
		c.data = d
	}
	d, err := retained(c.data)
	return d, nil, err
}

// take is the column's datum, brought home if need be. The caller releases it.
func (c *Column) take(ctx context.Context) (Datum, error) {
	d, k, err := c.argument()
	if k == nil {
		return d, err
	}
	defer k.release()
	return k.datum(ctx)
}

// hold makes a kept result the column, which gets a reference of its own.
func (c *Column) hold(k *kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	k.retain()
	c.kept = k
	c.cleanup = runtime.AddCleanup(c, (*kept).release, k)
}

// released says whether nobody wants the column any more.
func (c *Column) released() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// fill moves the result of a batch that is being released to the column, unless it is there or not wanted any more.
func (c *Column) fill(v *Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.data != nil || c.kept != nil {
		return
	}
	if d, err := v.datum(); err == nil {
		c.data = d
	}
}

// Array is the column as an array, which the caller releases. Chunks are put together; a scalar is an array of one row.
// What only the device has is copied to the host, once: gpu.ErrDeviceLost where the device was lost before.
func (c *Column) Array(ctx context.Context) (arr arrow.Array, err error) {
	defer recoverMemory(&err)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	return wholeArray(ctx, d)
}

// Release gives the column's memory back.
func (c *Column) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.pinned {
		r.unpin()
	}
	if c.data != nil {
		c.data.Release()
	}
	if c.kept != nil {
		c.cleanup.Stop()
		c.kept.release()
	}
	c.data, c.kept, c.pinned, c.gone = nil, nil, nil, true
}

// wholeArray is a datum as one array.
func wholeArray(ctx context.Context, d Datum) (arrow.Array, error) {
	switch v := d.(type) {
	case *ac.ArrayDatum:
		return v.MakeArray(), nil
	case *ac.ScalarDatum:
		return scalar.MakeArrayFromScalar(v.Value, 1, GetAllocator(ctx))
	case *ac.ChunkedDatum:
		if len(v.Value.Chunks()) == 0 {
			return array.MakeArrayOfNull(GetAllocator(ctx), v.Value.DataType(), 0), nil
		}
		return array.Concatenate(v.Value.Chunks(), GetAllocator(ctx))
	}
	return nil, fmt.Errorf("%w: a %s is no column", arrow.ErrNotImplemented, d.Kind())
}
