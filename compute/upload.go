package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// ToDevice copies an array, chunked array, record batch, table or datum to the context's device, so that calls over it,
// eager ones and those of batches, need not move it again: they find the copies by the array's buffers, slices of it
// included. The array stays the caller's, must not be changed any more, and is retained until the handle is released.
// Where device and host share one memory, only arrays from other memory are copied.
//
// Copies are a cache: the least recently used are dropped when the device's budget ([SetDeviceBudget]) or memory is spent,
// and what exceeds the budget is not copied; calls then read the host's memory. Errors are gpu.ErrNoDevice,
// gpu.ErrOutOfMemory, gpu.ErrDeviceLost, and ctx's.
func ToDevice(ctx context.Context, data any) (*Column, error) {
	dev, err := deviceOf(ctx)
	if err != nil {
		return nil, err
	}
	d, err := datumOf(ctx, data)
	if err != nil {
		return nil, err
	}
	e := engineOf(dev)
	c := &Column{data: d}
	for _, buf := range buffersOf(c.data) {
		r, err := e.upload(ctx, buf)
		if err != nil {
			c.Release()
			return nil, err
		}
		if r != nil {
			c.pinned = append(c.pinned, r)
		}
	}
	return c, nil
}

// buffersOf lists the buffers that kernels may read: values and validity of every chunk of every column.
func buffersOf(d Datum) []*arrowmem.Buffer {
	var out []*arrowmem.Buffer
	cols := columnsOfTable(d)
	if cols == nil {
		cols = []Datum{d}
	}
	for _, col := range cols {
		for _, c := range chunksOf(col) {
			list := []arrow.ArrayData{c}
			if dict := dictionaryOf(c); dict != nil {
				list = append(list, dict)
			}
			for _, data := range list {
				for i, buf := range data.Buffers() {
					if i < 2 && buf != nil && buf.Len() > 0 {
						out = append(out, buf)
					}
				}
			}
		}
	}
	return out
}

// upload makes a buffer resident; nil where the device sees it as it is.
func (e *engine) upload(ctx context.Context, buf *arrowmem.Buffer) (*resident, error) {
	if r := e.residents.pin(buf); r != nil {
		return r, nil
	}
	ref, ours := memory.Lookup(buf.Bytes())
	ours = ours && ref.Device() == e.dev
	if e.info.Unified && ours {
		return nil, nil
	}
	size := int64(buf.Len() + bindAlign)
	if !e.residents.book(size) {
		return nil, nil
	}
	at, free, err := e.copyOf(ctx, buf, ref, ours)
	if err != nil {
		e.residents.unbook(size)
		if gone(err) {
			e.lose(err)
		}
		return nil, err
	}
	return e.residents.put(buf, at, size, free), nil
}

// copyOf copies a buffer to memory of the device.
func (e *engine) copyOf(ctx context.Context, buf *arrowmem.Buffer, ref memory.Ref, ours bool) (at place, free func(), err error) {
	if e.info.Unified {
		copied, err := e.mem.NewBuffer(buf.Len())
		if err != nil {
			return at, nil, err
		}
		spread(ctx, copied.Bytes(), buf.Bytes())
		ref, ok := memory.Lookup(copied.Bytes())
		if !ok {
			copied.Release()
			return at, nil, errNoDeviceMemory
		}
		return place{buf: ref.Buffer(), off: ref.Offset()}, copied.Release, nil
	}
	block, err := e.alloc(buf.Len() + bindAlign)
	if err != nil {
		return at, nil, err
	}
	if err := e.send(ctx, block, buf, ref, ours); err != nil {
		block.Release()
		return at, nil, err
	}
	return place{buf: block}, block.Release, nil
}

// spread copies as copy does, with several goroutines where there is much to copy: one of them alone does not keep the way
// to a device busy.
func spread(ctx context.Context, dst, src []byte) {
	const morsel = 1 << 20
	n := min(len(dst), len(src))
	cpu.Parallel(n, morsel, workersOf(ctx), func(_, start, end int) { copy(dst[start:end], src[start:end]) })
}

// stageBytes is the size of one of the two pieces in which foreign memory travels: while one is copied by the device,
// the host fills the other.
const stageBytes = 32 << 20

// send copies a buffer to the device, from where it lies if the device sees that, else through two staging pieces.
func (e *engine) send(ctx context.Context, to gpu.Buffer, buf *arrowmem.Buffer, ref memory.Ref, ours bool) error {
	if ours && ref.Retain() {
		r := e.newRecorder(ctx)
		defer r.release()
		r.c.Retain(buf, ref.Release)
		r.c.Copy(to, 0, ref.Buffer(), ref.Offset(), buf.Len())
		return r.finish(ctx)
	}
	src := buf.Bytes()
	var pieces [2]*recorder
	defer func() {
		for _, r := range pieces {
			if r != nil {
				r.release()
			}
		}
	}()
	for off, i := 0, 0; off < len(src); off, i = off+stageBytes, i+1 {
		k := i % 2
		if pieces[k] != nil {
			if err := pieces[k].event.Wait(ctx); err != nil {
				return err
			}
			pieces[k].release()
		}
		r := e.newRecorder(ctx)
		pieces[k] = r
		piece := src[off:min(off+stageBytes, len(src))]
		stage, at, err := r.scratch(len(piece))
		if err != nil {
			return err
		}
		spread(ctx, stage.Bytes(), piece)
		r.c.Copy(to, off, at.buf, at.off, len(piece))
		if err := r.commit(); err != nil {
			return err
		}
	}
	for _, r := range pieces {
		if r != nil {
			if err := r.event.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
