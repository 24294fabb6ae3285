package compute

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/memory"
	"github.com/broadhead-go/broadhead/msl"
)

// datum makes a datum of a result, after the work has ended. The caller owns it.
func (r *recorder) datum(v *value) (Datum, error) {
	if v.form == formScalar {
		return &ac.ScalarDatum{Value: v.scalar()}, nil
	}
	chunks := make([]arrow.ArrayData, 0, len(v.parts))
	defer func() {
		for _, d := range chunks {
			d.Release()
		}
	}()
	for i := range v.parts {
		d, err := r.array(&v.parts[i], v.typ)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, d)
	}
	return assemble(v.typ, v.form, chunks), nil
}

// scalar reads a scalar result.
func (v *value) scalar() scalar.Scalar {
	if v.fields != nil {
		fields := make([]scalar.Scalar, len(v.fields))
		for i, f := range v.fields {
			fields[i] = f.scalar()
		}
		return scalar.NewStructScalar(fields, v.typ.(*arrow.StructType))
	}
	p := &v.parts[0]
	valid := !p.nullable || p.hostValid[0]&1 != 0
	return scalarOfBytes(v.typ, append([]byte(nil), p.host[:max(widths[p.typ], 1)]...), valid)
}

// array makes array data of one chunk of a result.
func (r *recorder) array(p *part, t arrow.DataType) (arrow.ArrayData, error) {
	if p.valueBuf == nil {
		return nil, fmt.Errorf("%w: an argument is not a result", arrow.ErrInvalid)
	}
	n := p.rows()
	size := bytesFor(p.typ, n)
	values, err := r.handOut(p.valueBuf, size)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	var valid *arrowmem.Buffer
	nulls := 0
	if p.nullable {
		if valid, err = r.handOut(p.validBuf, bytesFor(msl.Bool, n)); err != nil {
			return nil, err
		}
		defer valid.Release()
		nulls = array.UnknownNullCount
	}
	if p.like != nil {
		return filtered(p.like, n, nulls, valid, values), nil
	}
	return array.NewData(t, n, []*arrowmem.Buffer{valid, values}, nil, nulls, 0), nil
}

// copyHome records a copy of device memory to memory that the host sees, the caller's allocator's if possible.
func (r *recorder) copyHome(from *place, size int) (*arrowmem.Buffer, error) {
	b, at, err := r.result(size)
	if err == nil && size > 0 {
		r.c.Copy(at.buf, at.off, from.buf, from.off, size)
	}
	return b, err
}

// handOut is the buffer that a result of size bytes ends in: the one that the kernels wrote where the caller's allocator
// gave it and it is not much too large, else a copy from that allocator.
func (r *recorder) handOut(b *arrowmem.Buffer, size int) (*arrowmem.Buffer, error) {
	if r.callers(b) && size >= b.Len()/2 {
		b.Retain()
		return b, nil
	}
	out, err := newBuffer(r.out, size)
	if err != nil {
		return nil, allocatorError{err}
	}
	spread(r.ctx, out.Bytes(), b.Bytes())
	return out, nil
}

// callers says whether a buffer came from the caller's allocator.
func (r *recorder) callers(b *arrowmem.Buffer) bool {
	switch a := r.out.(type) {
	case *memory.Allocator:
		return a.Owns(b.Bytes())
	case *arrowmem.GoAllocator:
		return false
	}
	return !r.e.mem.Owns(b.Bytes())
}
