package compute

import (
	"context"
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
	"github.com/broadhead-go/broadhead/msl"
)

// oneGroup is an aggregate that one threadgroup does from rows to result, where there are few rows.
type oneGroup struct {
	a    *aggregate
	p    *aggPlan
	opts *ScalarAggregateOptions
	key  msl.Key
}

// fewRows is how many rows one threadgroup aggregates: what it would take anyway as one of several.
const fewRows = msl.Tile

// oneGroup is nil where the reduction needs more than that.
func (a *aggregate) oneGroup(p *aggPlan, opts *ScalarAggregateOptions, mode CountMode) *oneGroup {
	if p.reduction == exact || p.allNull {
		return nil
	}
	return &oneGroup{a, p, opts, msl.Key{Skeleton: msl.Aggregate, Op: a.finishName(mode), In: p.in, Out: storage(a.field(p))}}
}

// few says whether one threadgroup does the call over these arguments.
func (c *call) few(args []Datum) bool {
	if c.one == nil || args[0].Len() > fewRows {
		return false
	}
	ch, ok := args[0].(*ac.ChunkedDatum)
	return !ok || len(ch.Value.Chunks()) == 1
}

// params are those of the kernel over n rows.
func (o *oneGroup) params(n int, off, valid uint64) msl.AggregateParams {
	params := msl.AggregateParams{N: uint64(n), Off: off, Valid: valid, MinCount: o.opts.MinCount}
	if o.opts.SkipNulls {
		params.SkipNulls = 1
	}
	return params
}

// record records the aggregate of one chunk.
func (o *oneGroup) record(r *recorder, c *part) (*value, error) {
	at, err := r.places()
	if err != nil {
		return nil, err
	}
	params := o.params(c.n, c.off, c.validOff)
	d := r.kernel(o.key)
	if c.typ != msl.NoType {
		d.in(msl.AggregateIn, &c.values)
	}
	if c.nullable {
		d.key.Flags |= msl.ANulls
		d.in(msl.AggregateValid, &c.valid)
	}
	d.to(msl.AggregateOut, &at.value).to(msl.AggregateOutValid, &at.valid)
	if o.a.name == "min_max" {
		d.to(msl.AggregateOut2, &at.second)
	}
	d.rows(msl.AggregateLen, c.count)
	if err := d.run(msl.AggregateArgs, bytesOf(&params), 1); err != nil {
		return nil, err
	}
	return at.result(o.a, o.p), nil
}

// single is all that an eager aggregate of few rows needs beside its result, kept for the next: such a call allocates
// nothing else.
type single struct {
	e      *engine
	c      gpu.Commands
	run    gpu.Runner
	out    *arrowmem.Buffer
	at     place
	params msl.AggregateParams
	args   [msl.AggregateBindings]gpu.Arg
	held   held
	letGo  func()
}

// newSingle is nil where the device has no such memory or commands.
func (e *engine) newSingle() *single {
	if s, ok := e.singles.Get().(*single); ok {
		return s
	}
	s := &single{e: e, c: e.dev.Commands()}
	var ok bool
	if s.run, ok = s.c.(gpu.Runner); !ok {
		s.c.Discard()
		return nil
	}
	var err error
	if s.out, err = e.mem.NewBuffer(finishBytes); err != nil {
		s.c.Discard()
		return nil
	}
	ref, ok := memory.Lookup(s.out.Bytes())
	if !ok || ref.Device() != e.dev {
		s.out.Release()
		s.c.Discard()
		return nil
	}
	s.at = place{buf: ref.Buffer(), off: ref.Offset()}
	s.letGo = func() {
		s.held.release()
		s.held = held{}
	}
	return s
}

// single runs an aggregate over an array that the device sees as it is. ok is false where the call has to go the usual
// way.
func (e *engine) single(ctx context.Context, c *call, args []Datum) (out Datum, ok bool, err error) {
	o := c.one
	d, isArray := args[0].(*ac.ArrayDatum)
	if o == nil || !isArray || d.Value.Len() > fewRows || d.Value.Len() == 0 || c.dicts[0] != msl.NoType {
		return nil, false, nil
	}
	t := c.ins[0]
	if c.rowsOnly {
		t = msl.NoType
	}
	col, err := columnOf(d.Value, t, false)
	if err != nil {
		return nil, true, err
	}
	s := e.newSingle()
	if s == nil {
		return nil, false, nil
	}
	key := o.key
	if !s.bind(&col, o, &key) {
		s.letGo()
		e.singles.Put(s)
		return nil, false, nil
	}
	key.Caps = e.info.Caps
	pipe, err := e.pipes.Get(msl.Canonical(key))
	if err != nil {
		s.letGo()
		e.singles.Put(s)
		return nil, true, err
	}
	s.c.Retain(s, s.letGo)
	s.c.Dispatch(pipe, 1, msl.Threads, s.args[:])
	if err := s.run.Run(ctx); err != nil {
		return nil, true, err // its memory may still be in use
	}
	out = &ac.ScalarDatum{Value: o.read(s.out.Bytes())}
	e.singles.Put(s)
	return out, true, nil
}

// bind binds a column where it lies; false: the device does not see it there.
func (s *single) bind(col *column, o *oneGroup, key *msl.Key) bool {
	clear(s.args[:])
	off, valid, ok := 0, 0, true
	if col.typ != msl.NoType {
		if off, ok = s.input(msl.AggregateIn, col.valueBuf, max(widths[col.typ], 1)); !ok {
			return false
		}
		if col.typ == msl.Bool {
			off *= 8
		}
		off += col.off
	}
	if !col.valid.All() {
		key.Flags |= msl.ANulls
		if valid, ok = s.input(msl.AggregateValid, col.validBuf, 1); !ok {
			return false
		}
		valid = 8*valid + col.valid.Off
	}
	s.params = o.params(col.n, uint64(off), uint64(valid))
	s.args[msl.AggregateOut] = gpu.Arg{Buf: s.at.buf, Off: s.at.off}
	s.args[msl.AggregateOutValid] = gpu.Arg{Buf: s.at.buf, Off: s.at.off + finishValid}
	if o.a.name == "min_max" {
		s.args[msl.AggregateOut2] = gpu.Arg{Buf: s.at.buf, Off: s.at.off + finishMax}
	}
	s.args[msl.AggregateArgs] = gpu.Arg{Bytes: bytesOf(&s.params)}
	return true
}

// input binds a buffer and returns how many elements before its first the binding starts.
func (s *single) input(index int, owner *arrowmem.Buffer, width int) (int, bool) {
	buf, off, ok := s.e.view(owner, &s.held)
	if !ok {
		return 0, false
	}
	start := off &^ (bindAlign - 1)
	s.args[index] = gpu.Arg{Buf: buf, Off: start}
	return (off - start) / width, (off-start)%width == 0
}

// read makes a scalar of what the kernel wrote.
func (o *oneGroup) read(out []byte) scalar.Scalar {
	valid := out[finishValid]&1 != 0
	if o.a.name == "min_max" {
		return minMaxScalar(o.p, func(largest bool, typ arrow.DataType) scalar.Scalar {
			if largest {
				return scalarOfWord(typ, out[finishMax:], valid)
			}
			return scalarOfWord(typ, out, valid)
		})
	}
	return scalarOfWord(o.p.out, out, valid)
}

// scalarOfWord reads a fixed-width value at the start of a word as a scalar.
func scalarOfWord(t arrow.DataType, at []byte, valid bool) scalar.Scalar {
	if !valid {
		return scalar.MakeNullScalar(t)
	}
	word := binary.LittleEndian.Uint64(at)
	switch t.ID() {
	case arrow.BOOL:
		return scalar.NewBooleanScalar(word&1 != 0)
	case arrow.INT8:
		return scalar.NewInt8Scalar(int8(word))
	case arrow.INT16:
		return scalar.NewInt16Scalar(int16(word))
	case arrow.INT32:
		return scalar.NewInt32Scalar(int32(word))
	case arrow.INT64:
		return scalar.NewInt64Scalar(int64(word))
	case arrow.UINT8:
		return scalar.NewUint8Scalar(uint8(word))
	case arrow.UINT16:
		return scalar.NewUint16Scalar(uint16(word))
	case arrow.UINT32:
		return scalar.NewUint32Scalar(uint32(word))
	case arrow.UINT64:
		return scalar.NewUint64Scalar(word)
	case arrow.FLOAT32:
		return scalar.NewFloat32Scalar(math.Float32frombits(uint32(word)))
	case arrow.FLOAT64:
		return scalar.NewFloat64Scalar(math.Float64frombits(word))
	}
	width := int(unsafe.Sizeof(word))
	if f, ok := t.(arrow.FixedWidthDataType); ok {
		width = max(f.BitWidth()/8, 1)
	}
	return scalarOfBytes(t, append([]byte(nil), at[:width]...), true)
}
