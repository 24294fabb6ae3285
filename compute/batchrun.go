package compute

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// engine is the engine of the device that runs the batch, nil for the CPU. A device takes a batch whole: every call
// must have a kernel there, and the largest call enough rows.
func (b *Batch) engine() *engine {
	dev, err := deviceOf(b.ctx)
	if err != nil || len(b.nodes) == 0 {
		return nil
	}
	e := engineOf(dev)
	if e.usable() != nil {
		return nil
	}
	worth := false
	for _, v := range b.nodes {
		c := v.call
		if c == nil || c.gpu == nil {
			return nil
		}
		if c.admit.validity || !v.fitsDevice() {
			return nil
		}
		var rows int64
		place := DeviceMemory
		for i, a := range v.args {
			n := int64(0)
			switch x := a.(type) {
			case Datum:
				n, place = x.Len(), max(place, e.placeOf([]Datum{x}))
			case *kept:
				n, place = x.rows(), max(place, x.placeOn(e))
			}
			if c.cross != crossTake || i == 1 {
				rows = max(rows, n)
			}
		}
		class := c.cross
		if (class == crossMap || class == crossTake) && (v.used || v.column != nil) && !e.info.Unified {
			class = crossCompare // what stays on the device does not cross the bus
		}
		cross, _ := crossoverOf(c.fn.name, &e.info, class, c.in, place)
		worth = worth || rows > 0 && rows >= cross
	}
	if !worth {
		return nil
	}
	return e
}

// fitsDevice says whether the forms of a call's arguments are such that a device takes them.
func (v *Value) fitsDevice() bool {
	for i, a := range v.args {
		f := formScalar
		switch x := a.(type) {
		case *Value:
			// pending dictionaries are indexes without their values
			if f = x.form; x.typ.ID() == arrow.STRUCT || v.call.dicts[i] != msl.NoType {
				return false
			}
			if v.call.cross == crossTake && i == 0 && (f == formChunked || x.pending()) {
				return false
			}
		case *kept:
			if f = x.v.form; v.call.dicts[i] != msl.NoType || v.call.cross == crossTake && i == 0 && f == formChunked {
				return false
			}
		case Datum:
			f, _ = formOf(x)
			if v.call.cross == crossTake && i == 0 && !oneChunk(x) {
				return false
			}
		}
		if f == formScalar && v.call.fn.check != nil {
			return false // filters take no scalars there
		}
	}
	return true
}

// submit records the batch and commits it.
func (b *Batch) submit(e *engine) (err error) {
	for _, v := range b.nodes {
		if err := e.admitNode(b.ctx, v); err != nil {
			return &callError{v.name, err}
		}
	}
	r := e.newRecorder(b.ctx)
	r.together = !e.info.Unified && len(b.nodes) > 1
	defer func() {
		if err != nil {
			r.release()
		}
	}()
	defer recoverMemory(&err)
	var inputs inputList
	for _, v := range b.nodes {
		in := v.in[:0]
		if len(v.args) > len(v.in) {
			in = make([]*value, 0, len(v.args))
		}
		in = in[:len(v.args)]
		for i, a := range v.args {
			if before, ok := a.(*Value); ok {
				in[i] = before.onDevice
				continue
			}
			k := inputKey{of: identity(a), typ: v.call.ins[i], dict: v.call.dicts[i], rowsOnly: v.call.rowsOnly}
			if in[i] = inputs.find(k); in[i] == nil {
				if in[i], err = b.input(r, a, v.call, i); err != nil {
					return &callError{v.name, err}
				}
				inputs = append(inputs, inputOf{k, in[i]})
			}
		}
		if v.onDevice, err = v.call.gpu(r, in); err != nil {
			return &callError{v.name, err}
		}
	}
	if err := r.commit(); err != nil {
		return err
	}
	b.r = r
	return nil
}

// input brings an argument to the device, where a kept column is already.
func (b *Batch) input(r *recorder, a any, c *call, arg int) (*value, error) {
	k, ok := a.(*kept)
	if !ok {
		return r.input(a.(Datum), c, arg)
	}
	v, d, err := k.input(r, c, arg)
	if d != nil {
		b.owned = append(b.owned, d)
	}
	return v, err
}

// inputKey names an argument as a kernel sees it, so that calls of one batch share what was brought to the device.
type inputKey struct {
	of       any
	typ      msl.Type
	dict     msl.Type
	rowsOnly bool
}

// inputList are the inputs of a batch on the device: few, so that a search beats a map.
type inputList []inputOf

type inputOf struct {
	key inputKey
	v   *value
}

func (l inputList) find(k inputKey) *value {
	for i := range l {
		if l[i].key == k {
			return l[i].v
		}
	}
	return nil
}

// identity is what arguments of the same data have in common.
func identity(a any) any {
	switch v := a.(type) {
	case *ac.ArrayDatum:
		return v.Value
	case *ac.ChunkedDatum:
		return v.Value
	case *ac.ScalarDatum:
		switch s := v.Value.(type) {
		case *scalar.Boolean, *scalar.Int8, *scalar.Int16, *scalar.Int32, *scalar.Int64, *scalar.Uint8, *scalar.Uint16,
			*scalar.Uint32, *scalar.Uint64, *scalar.Float32, *scalar.Float64:
			return s
		}
	}
	return a
}

// admitNode admits a call of a batch.
func (e *engine) admitNode(ctx context.Context, v *Value) error {
	k := v.call.admit
	k.args = len(v.args)
	for i, a := range v.args {
		if mayBeNull(a) && !k.validity {
			k.nulls |= 1 << i
		}
	}
	if c := v.call; c.one != nil {
		d, known := v.args[0].(Datum)
		if few := !known || c.few([]Datum{d}); few {
			short := k
			short.few = true
			if err := e.admitKey(ctx, c, short); err != nil || known {
				return err
			}
		}
	}
	return e.admitKey(ctx, v.call, k)
}

// admitKey admits one variant of a call.
func (e *engine) admitKey(ctx context.Context, c *call, k admitKey) error {
	if verdict, known := e.admitted.Known(k); known {
		return verdict
	}
	return e.admitted.Check(k, func() error { return e.try(ctx, c, k) })
}

// mayBeNull says whether an argument of a batch may have nulls.
func mayBeNull(a any) bool {
	switch x := a.(type) {
	case *Value:
		return x.nulls
	case *kept:
		return x.nullable()
	case Datum:
		return hasNulls(x)
	}
	return true
}

// collect makes datums of the results when the device has done its last commit. On a device with memory of its own, kept
// results and those that only fed other calls stay there until they are asked for. What comes home only now, since its
// length was pending, needs another commit, which is returned: collect is to be called again when that has ended.
func (b *Batch) collect(ctx context.Context, e *engine) (next gpu.Event, err error) {
	r := b.r
	defer func() {
		if err != nil {
			b.dropResults()
			b.dropRecorder()
		}
	}()
	defer recoverMemory(&err)
	if err := r.event.Wait(ctx); err != nil {
		return nil, err
	}
	if b.rows == nil {
		if err := b.ask(e); err != nil {
			return nil, err
		}
		if r.c != nil {
			err := r.commit()
			return r.event, err
		}
	}
	for _, v := range b.home {
		if v.result, err = r.datum(v.onDevice); err != nil {
			return nil, &callError{v.name, err}
		}
	}
	b.settle()
	for i, v := range b.nodes {
		e.countRun(v.name, b.rows[i])
	}
	return nil, nil
}

// ask finds out what the host gets, and records the copies of what is not there yet.
func (b *Batch) ask(e *engine) error {
	r := b.r
	if err := r.check(); err != nil {
		return err
	}
	b.rows = make([]int64, len(b.nodes))
	for i, v := range b.nodes {
		b.rows[i] = v.argumentRows()
	}
	b.home = b.wanted(e)
	for _, v := range b.home {
		if err := r.bringHome(v.onDevice, true); err != nil {
			return &callError{v.name, err}
		}
	}
	return nil
}

// settle gives columns what was kept for them, and back what no result needs any more.
func (b *Batch) settle() {
	later := false
	for _, v := range b.nodes {
		if v.kept != nil {
			v.column.hold(v.kept)
		}
		if v.kept != nil || v.result != nil {
			continue
		}
		later = true
		for i := range v.onDevice.parts {
			p := &v.onDevice.parts[i]
			for _, block := range [...]*privateBlock{p.block, p.validBlock} {
				if block != nil {
					block.needed = true
				}
			}
		}
	}
	if !later {
		b.dropRecorder()
		return
	}
	b.r.keepNeeded()
}

// argumentRows is the number of rows of a call, as eager calls count them.
func (v *Value) argumentRows() (n int64) {
	for _, a := range v.args {
		switch x := a.(type) {
		case *Value:
			n = max(n, x.rows())
		case *kept:
			n = max(n, x.rows())
		case Datum:
			n = max(n, x.Len())
		}
	}
	return n
}

// rows is the number of rows of a result.
func (v *Value) rows() int64 {
	if v.form == formScalar || len(v.onDevice.parts) == 0 {
		return 1
	}
	n := 0
	for i := range v.onDevice.parts {
		n += v.onDevice.parts[i].rows()
	}
	return int64(n)
}

// wanted are the calls whose results the host gets at once. Those that stay on the device as columns are put aside.
func (b *Batch) wanted(e *engine) []*Value {
	if e.info.Unified {
		return b.nodes
	}
	out := make([]*Value, 0, len(b.nodes))
	for _, v := range b.nodes {
		column := v.column != nil && !v.column.released()
		if column {
			v.kept = e.keep(b.ctx, v.onDevice)
		}
		if v.kept == nil && (!v.used || column || v.form == formScalar) {
			out = append(out, v)
		}
	}
	return out
}

// fetch brings home a result that stayed on the device.
func (v *Value) fetch() (err error) {
	defer recoverMemory(&err)
	ctx, r := context.WithoutCancel(v.batch.ctx), v.batch.r
	if v.kept != nil {
		v.result, err = v.kept.datum(ctx)
		return err
	}
	if r == nil {
		return errBatchPending
	}
	if err := r.bringRest(ctx, v.onDevice); err != nil {
		return err
	}
	v.result, err = r.datum(v.onDevice)
	return err
}

func (b *Batch) dropRecorder() {
	if b.r != nil {
		b.r.release()
		b.r = nil
	}
}

func (b *Batch) dropResults() {
	for _, v := range b.nodes {
		if v.result != nil {
			v.result.Release()
			v.result = nil
		}
		if v.kept != nil {
			v.kept.release()
			v.kept = nil
		}
	}
}

// fallback decides what an error on the device means: nil lets the CPU run the batch.
func (b *Batch) fallback(e *engine, err error) error {
	b.dropResults()
	name := "batch"
	var ce *callError
	if errors.As(err, &ce) {
		name = ce.function
	}
	if isMisfit(err) {
		return nil
	}
	if isUsers(err) {
		return fmt.Errorf("batch: %s: %w", name, err)
	}
	e.fellBack(b.ctx, name, err)
	return nil
}

// runOnCPU runs the calls one after the other.
func (b *Batch) runOnCPU(ctx context.Context) error {
	ctx = WithDevice(ctx, gpu.Device(nil))
	for _, v := range b.nodes {
		args := make([]Datum, len(v.args))
		for i, a := range v.args {
			switch x := a.(type) {
			case *Value:
				args[i] = x.result
			case *kept:
				d, err := x.datum(ctx)
				if err != nil {
					b.dropResults()
					return fmt.Errorf("batch: %s: %w", v.name, err)
				}
				defer d.Release()
				args[i] = d
			case Datum:
				args[i] = x
			}
		}
		d, err := CallFunction(ctx, v.name, v.opts, args...)
		if err != nil {
			b.dropResults()
			return fmt.Errorf("batch: %s: %w", v.name, err)
		}
		v.result = d
	}
	return nil
}
