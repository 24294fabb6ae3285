package compute

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Column is a column that a Batch left on its device. On unified memory it shares the memory of its array.
type Column struct {
	mu     sync.Mutex
	from   *Value // nil for what ToDevice made
	data   Datum
	pinned []*resident
	gone   bool
}

var errReleased = fmt.Errorf("%w: the column was released", arrow.ErrInvalid)

// take is the column's datum, moved out of the batch at first. The caller releases it.
func (c *Column) take() (Datum, error) {
	if c.from != nil {
		c.from.batch.mu.Lock()
		defer c.from.batch.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return nil, errReleased
	}
	if c.data == nil && c.from == nil {
		return nil, errReleased
	}
	if c.data == nil {
		d, err := c.from.datum()
		if err != nil {
			return nil, err
		}
		c.data = d
	}
	return retained(c.data)
}

// fill moves the result of a batch that is being released to the column, unless it is there or not wanted any more.
func (c *Column) fill(v *Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.data != nil {
		return
	}
	if d, err := v.datum(); err == nil {
		c.data = d
	}
}

// Array is the column as an array, which the caller releases. Chunks are put together; a scalar is an array of one row.
// On devices with memory of their own this copies.
func (c *Column) Array(ctx context.Context) (arr arrow.Array, err error) {
	defer recoverMemory(&err)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := c.take()
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
	c.data, c.pinned, c.gone = nil, nil, true
}

// stay keeps a result's device memory as the copy of its buffers.
func (c *Column) stay(e *engine, v *Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	for i, chunk := range chunksOf(v.result) {
		p, bufs := &v.onDevice.parts[i], chunk.Buffers()
		for k, block := range []*privateBlock{p.validBlock, p.block} {
			if block == nil || bufs[k] == nil || bufs[k].Len() == 0 {
				continue
			}
			size := int64(block.buf.Len())
			if !e.residents.book(size) {
				continue
			}
			block.retain()
			c.pinned = append(c.pinned, e.residents.put(bufs[k], place{buf: block.buf}, size, block.release))
		}
	}
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
