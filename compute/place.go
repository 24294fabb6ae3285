package compute

import (
	"unsafe"

	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/memory"
	"github.com/broadhead-go/broadhead/msl"
)

// bindAlign is the alignment that kernels may count on at the start of a binding.
const bindAlign = 16

// input brings a datum to the device: where it lies if the device sees that memory, wrapped if its pages allow, else
// copied.
func (r *recorder) input(d Datum, c *call, arg int) (*value, error) {
	if s, ok := d.(*ScalarDatum); ok && len(c.deviceCasts[arg]) > 0 {
		v, err := castAll(r.ctx, s, c.casts[arg], c.rounds)
		if err != nil {
			return nil, err
		}
		defer v.Release()
		return r.input(v, &call{ins: [maxArgs]msl.Type{c.castTarget(arg)}}, 0)
	}
	if index := c.dicts[arg]; index != msl.NoType {
		return r.lookedUp(d, index, c.ins[arg])
	}
	t := c.ins[arg]
	if c.rowsOnly {
		t = msl.NoType
	}
	cols, err := columnsOf(d, t, c.admit.validity)
	if err != nil {
		return nil, err
	}
	v := newValue(d.(ArrayLikeDatum).Type(), len(cols))
	v.form, _ = formOf(d)
	chunks := chunksOf(d)
	for i := range cols {
		p, err := r.part(&cols[i])
		if err != nil {
			return nil, err
		}
		if chunks != nil {
			p.like = chunks[i]
		}
		v.parts[i] = p
	}
	return v, nil
}

func (r *recorder) part(c *column) (p part, err error) {
	p = part{typ: c.typ, n: c.n, stride: uint32(c.stride)}
	switch c.typ {
	case msl.NoType:
	case msl.Bool:
		p.values, p.off, err = r.bits(c.values, c.off, c.n, c.valueBuf)
	default:
		p.values, p.off, err = r.elements(c)
	}
	if err == nil && !c.valid.All() {
		p.nullable = true
		p.valid, p.validOff, err = r.bits(c.valid.Data, c.valid.Off, c.n, c.validBuf)
	}
	return p, err
}

// elements binds the values of a column and returns the elements before its first.
func (r *recorder) elements(c *column) (place, uint64, error) {
	w := widths[c.typ]
	if c.n == 0 {
		p, err := r.copied(nil)
		return p, 0, err
	}
	if p, delta, ok := r.inPlace(c.values, c.valueBuf, w); ok {
		return p, uint64(c.off + delta/w), nil
	}
	p, err := r.copied(c.values[c.off*w : (c.off+c.n)*w])
	return p, 0, err
}

// bits binds a bitmap and returns the bits before its first row.
func (r *recorder) bits(b []byte, off, n int, owner *arrowmem.Buffer) (place, uint64, error) {
	if n == 0 {
		p, err := r.copied(nil)
		return p, 0, err
	}
	if p, delta, ok := r.inPlace(b, owner, 1); ok {
		return p, uint64(off + 8*delta), nil
	}
	first := off / 8
	p, err := r.copied(b[first:min(len(b), (off+n+7)/8)])
	return p, uint64(off % 8), err
}

// inPlace binds memory that the device sees, from an aligned position delta bytes before b. It fails where delta is no
// multiple of the width or the memory is not the device's.
func (r *recorder) inPlace(b []byte, owner *arrowmem.Buffer, width int) (p place, delta int, ok bool) {
	if owner == nil || len(b) == 0 {
		return p, 0, false
	}
	if res := r.e.residents.find(owner); res != nil {
		r.pin(pin{copy: res})
		return res.at, 0, true
	}
	ref, ours := memory.Lookup(b)
	if !ours || ref.Device() != r.e.dev {
		p, ok = r.wrapped(b, owner)
		return p, 0, ok
	}
	off := ref.Offset() &^ (bindAlign - 1)
	delta = ref.Offset() - off
	if delta%width != 0 || !ref.Retain() {
		return p, 0, false
	}
	r.pin(pin{owner: owner, ref: ref})
	return place{buf: ref.Buffer(), off: off}, delta, true
}

// wrapped binds foreign memory whose pages the device can map.
func (r *recorder) wrapped(b []byte, owner *arrowmem.Buffer) (place, bool) {
	page := r.e.info.PageSize
	if page == 0 {
		return place{}, false // the device wraps nothing
	}
	size := (len(b) + page - 1) / page * page
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(page) != 0 || cap(b) < size {
		return place{}, false
	}
	buf, err := r.e.dev.Wrap(b[:size])
	if err != nil {
		return place{}, false
	}
	owner.Retain()
	r.c.Retain(owner, func() {
		buf.Release()
		owner.Release()
	})
	return place{buf: buf}, true
}

// copied binds a copy.
func (r *recorder) copied(b []byte) (place, error) {
	if len(b) > 0 && len(b) <= smallBytes {
		return r.constant(b)
	}
	buf, p, err := r.scratch(len(b))
	if err != nil {
		return p, err
	}
	spread(r.ctx, buf.Bytes(), b)
	return p, nil
}

// placeOf says where the memory of a call's arguments lies, as the crossover counts it: the farthest of them.
func (e *engine) placeOf(args []Datum) Place {
	p := DeviceMemory
	for _, a := range args {
		if v, ok := a.(*ac.ArrayDatum); ok && dictionaryOf(v.Value) == nil {
			bufs := v.Value.Buffers()
			p = max(p, e.farthest(bufs[:min(len(bufs), 2)]))
		} else {
			p = max(p, e.farthest(buffersOf(a)))
		}
		if p == ForeignMemory {
			return p
		}
	}
	if e.info.Unified {
		return HostMemory
	}
	return p
}

// farthest is the place of the farthest of some buffers.
func (e *engine) farthest(list []*arrowmem.Buffer) Place {
	p := DeviceMemory
	for _, b := range list {
		if b == nil || b.Len() == 0 || e.residents.holds(b) {
			continue
		}
		if ref, ok := memory.Lookup(b.Bytes()); !ok || ref.Device() != e.dev {
			return ForeignMemory
		}
		p = HostMemory
	}
	return p
}

// oneRun is alignParts for arrays and scalars whose lengths match: a single run, in the recorder's own space.
func (r *recorder) oneRun(args []*value) ([]part, form, bool) {
	f, lead := formScalar, (*part)(nil)
	if len(args) > len(r.cols) {
		return nil, f, false
	}
	for i, a := range args {
		if a.form == formChunked || len(a.parts) != 1 {
			return nil, f, false
		}
		r.cols[i] = a.parts[0]
		if a.form == formScalar {
			continue
		}
		p := &a.parts[0]
		if lead == nil {
			f, lead = formArray, p
		} else if p.n != lead.n || p.count != lead.count {
			return nil, f, false
		}
	}
	return r.cols[:len(args)], f, true
}

// alignParts cuts values into runs at every chunk border of any of them. Chunks whose lengths only the device knows
// match only chunks of the very same length.
func alignParts(args []*value) ([][]part, form, error) {
	f, pending := formScalar, false
	for _, a := range args {
		f = max(f, a.form)
		for i := range a.parts {
			pending = pending || a.parts[i].count != nil
		}
	}
	if f != formChunked || pending {
		return zipParts(args, f)
	}
	cols, forms := make([][]column, len(args)), make([]form, len(args))
	for i, a := range args {
		forms[i] = a.form
		cols[i] = make([]column, len(a.parts))
		for k, p := range a.parts {
			cols[i][k] = column{n: p.n, stride: int(p.stride), off: 0, values: nil, valid: cpu.Bitmap{}}
		}
	}
	runs, _, err := alignRuns(cols, forms)
	if err != nil {
		return nil, f, err
	}
	return partsOfRuns(args, runs), f, nil
}

// partsOfRuns slices values the way that alignRuns cut their lengths.
func partsOfRuns(args []*value, runs []run) [][]part {
	at, row := make([]int, len(args)), make([]int, len(args))
	out := make([][]part, len(runs))
	for i, r := range runs {
		out[i] = make([]part, len(args))
		for k, a := range args {
			if a.form == formScalar {
				out[i][k] = a.parts[0]
				continue
			}
			for row[k] == a.parts[at[k]].n {
				at[k]++
				row[k] = 0
			}
			out[i][k] = a.parts[at[k]].slice(row[k], r.n)
			row[k] += r.n
		}
	}
	return out
}

// zipParts pairs chunk with chunk.
func zipParts(args []*value, f form) ([][]part, form, error) {
	var lead *value
	for _, a := range args {
		if a.form != formScalar && lead == nil {
			lead = a
		}
	}
	if lead == nil {
		lead = args[0]
	}
	out, space := make([][]part, len(lead.parts)), make([]part, 0, len(lead.parts)*len(args))
	for i := range out {
		first := len(space)
		for _, a := range args {
			if a.form == formScalar {
				space = append(space, a.parts[0])
				continue
			}
			if len(a.parts) != len(lead.parts) {
				return nil, f, errUnaligned
			}
			p, l := &a.parts[i], &lead.parts[i]
			if p.count != l.count {
				return nil, f, errUnaligned
			}
			if p.n != l.n {
				return nil, f, lengthError(l.n, p.n)
			}
			space = append(space, *p)
		}
		out[i] = space[first:len(space):len(space)]
	}
	return out, f, nil
}
