package compute

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// kept is the result of a batch in memory of the device alone. It comes home when somebody asks for it, or when the
// device needs the room, and is a datum from then on.
type kept struct {
	e    *engine
	ctx  context.Context // the batch's, whose allocator the datum comes from
	v    value           // of parts whose lengths are known
	refs atomic.Int32    // of its handle, its batch, and batches with it as an argument

	mu     sync.Mutex
	on     *resident   // its memory; nil once it is home, or released
	data   Datum       // once it is home
	copies []*resident // what the device has of data
}

// keep makes a result stay on the device, with one reference. It does not where the result is no column in memory of its
// own, or the budget has no room.
func (e *engine) keep(ctx context.Context, v *value) *kept {
	if e.info.Unified || v.form == formScalar {
		return nil
	}
	k := &kept{e: e, ctx: context.WithoutCancel(ctx), v: value{typ: v.typ, form: v.form, parts: make([]part, len(v.parts))}}
	var blocks []*privateBlock
	var size int64
	for i := range v.parts {
		p := v.parts[i]
		if p.block == nil || p.nullable && p.validBlock == nil || p.valueBuf != nil || p.off != 0 || p.validOff != 0 {
			return nil
		}
		p.n, p.count = p.rows(), nil
		p.values.epoch, p.valid.epoch = 0, 0
		k.v.parts[i] = p
		for _, b := range []*privateBlock{p.block, p.validBlock} {
			if b != nil {
				blocks, size = append(blocks, b), size+int64(b.buf.Len())
			}
		}
	}
	if !e.residents.book(size) {
		return nil
	}
	for _, b := range blocks {
		b.retain()
	}
	for i := range k.v.parts {
		if p := &k.v.parts[i]; p.like != nil {
			p.like = filtered(p.like, 0, 0, nil, nil) // its type and dictionary, not its rows
		}
	}
	k.refs.Store(1)
	k.on = e.residents.hold(size, func() {
		for _, b := range blocks {
			b.release()
		}
	}, k.leave)
	return k
}

func (k *kept) retain() { k.refs.Add(1) }

func (k *kept) release() {
	if k.refs.Add(-1) > 0 {
		return
	}
	k.mu.Lock()
	on, data, copies := k.on, k.data, k.copies
	k.on, k.data, k.copies = nil, nil, nil
	k.mu.Unlock()
	if on != nil {
		on.unpin()
	}
	for _, r := range copies {
		r.unpin()
	}
	if data != nil {
		data.Release()
	}
	for i := range k.v.parts {
		if like := k.v.parts[i].like; like != nil {
			like.Release()
		}
	}
}

func (k *kept) rows() (n int64) {
	for i := range k.v.parts {
		n += int64(k.v.parts[i].n)
	}
	return n
}

func (k *kept) nullable() bool {
	for i := range k.v.parts {
		if k.v.parts[i].nullable {
			return true
		}
	}
	return false
}

// home is the datum, if it is on the host, borrowed.
func (k *kept) home() Datum {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.data
}

// placeOn says where the column lies as a device sees it.
func (k *kept) placeOn(e *engine) Place {
	if d := k.home(); d != nil {
		return e.placeOf([]Datum{d})
	}
	if k.e == e {
		return DeviceMemory
	}
	return ForeignMemory
}

// datum brings the column home, once, and returns its datum, which the caller releases. The device keeps what it has, as
// the copies of the datum's buffers.
func (k *kept) datum(ctx context.Context) (Datum, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.data == nil {
		d, err := k.bring(ctx)
		if err != nil {
			return nil, err
		}
		k.data = d
		var copies []residentCopy
		for i, chunk := range chunksOf(d) {
			p, bufs := &k.v.parts[i], chunk.Buffers()
			for n, b := range []*privateBlock{p.validBlock, p.block} {
				if b != nil && bufs[n] != nil && bufs[n].Len() > 0 {
					copies = append(copies, residentCopy{bufs[n], b})
				}
			}
		}
		k.copies, k.on = k.on.replace(copies), nil
	}
	return retained(k.data)
}

// leave brings the column home for good, so that the device can have its memory. It is false where that is not possible,
// or not needed any more.
func (k *kept) leave() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.on == nil {
		return false
	}
	d, err := k.bring(k.ctx)
	if err != nil {
		return false
	}
	k.data, k.on = d, nil
	return true
}

// bring copies the column to the host.
func (k *kept) bring(ctx context.Context) (d Datum, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			if gone(err) && !errors.As(err, new(allocatorError)) {
				k.e.lose(err)
			}
			err = fmt.Errorf("compute: a column that only %s has: %w", k.e.info.Driver, err)
		}
	}()
	defer recoverMemory(&err)
	if k.on == nil {
		return nil, errReleased
	}
	r := k.e.newRecorder(ctx)
	r.out = GetAllocator(k.ctx)
	defer r.release()
	k.on.use()
	r.c.Retain(nil, k.on.done)
	v := k.copyOf()
	if err := r.bringHome(v, true); err != nil {
		return nil, err
	}
	if err := r.finish(ctx); err != nil {
		return nil, err
	}
	return r.datum(v)
}

// copyOf is the value for one recorder.
func (k *kept) copyOf() *value {
	v := k.v
	v.parts = append([]part(nil), k.v.parts...)
	return &v
}

// input is the column as an argument of a recorded call; d is its datum, to be released when the work has ended, where
// the device has to be given that.
func (k *kept) input(r *recorder, c *call, arg int) (v *value, d Datum, err error) {
	k.mu.Lock()
	if k.on != nil && k.e == r.e {
		defer k.mu.Unlock()
		k.on.use()
		r.c.Retain(nil, k.on.done)
		return k.copyOf(), nil, nil
	}
	k.mu.Unlock()
	if d, err = k.datum(r.ctx); err != nil {
		return nil, nil, err
	}
	if v, err = r.input(d, c, arg); err != nil {
		d.Release()
		return nil, nil, err
	}
	return v, d, nil
}
