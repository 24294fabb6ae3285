package compute

import (
	"github.com/broadhead-go/broadhead/msl"
)

// foldOn records the op, over and over where there are more arguments than inputs.
func (o *op) foldOn(r *recorder, p *plan, args []*value) (*value, error) {
	n := o.inputs(p)
	out, err := o.record(r, p, args[:n])
	for _, next := range args[n:] {
		if err != nil {
			return nil, err
		}
		out, err = o.record(r, p, []*value{out, next})
	}
	return out, err
}

// record records the op over device values.
func (o *op) record(r *recorder, p *plan, args []*value) (*value, error) {
	if cols, f, ok := r.oneRun(args); ok {
		out := newValue(p.out, 1)
		out.form = f
		err := o.recordRun(r, p, cols, &out.parts[0])
		if f == formScalar {
			out.parts[0].stride = 0
		}
		return out, err
	}
	runs, f, err := alignParts(args)
	if err != nil {
		return nil, err
	}
	out := newValue(p.out, len(runs))
	out.form = f
	for i, cols := range runs {
		if err = o.recordRun(r, p, cols, &out.parts[i]); err != nil {
			return nil, err
		}
		if f == formScalar {
			out.parts[i].stride = 0
		}
	}
	return out, nil
}

// bind adds the inputs that options decide to a call's arguments.
func (r *recorder) bind(c *call, p *plan, args []*value) ([]*value, error) {
	for _, s := range p.bound {
		v, err := r.input(NewDatumWithoutOwning(s), c, len(args))
		if err != nil {
			return nil, err
		}
		args = append(args[:len(args):len(args)], v)
	}
	return args, nil
}

// mapInputs are the bindings of an input and its validity.
var mapInputs = [maxInputs][2]int{{msl.MapA, msl.MapAValid}, {msl.MapB, msl.MapBValid}, {msl.MapC, msl.MapCValid}}

// recordRun records one run: a single dispatch, whatever the number of rows.
func (o *op) recordRun(r *recorder, p *plan, cols []part, out *part) error {
	out.typ, out.n, out.stride = p.result(), 1, 1
	key := msl.Key{Skeleton: msl.Map, Op: o.name, In: p.in, Out: p.result()}
	nulls := r.nulls[:len(cols)]
	for i := range cols {
		c := &cols[i]
		if c.stride != 0 {
			out.n, out.count = c.n, c.count
		}
		if nulls[i] = c.nullable; c.nullable {
			key.Flags |= msl.NullFlag(i)
		}
	}
	out.nullable = o.mayBeNull(nulls)
	if err := out.allocate(r); err != nil {
		return err
	}
	if out.n == 0 {
		return nil
	}
	d := r.kernel(key)
	for i := range cols {
		d.in(mapInputs[i][0], &cols[i].values)
		if cols[i].nullable {
			d.in(mapInputs[i][1], &cols[i].valid)
		}
	}
	d.to(msl.MapOut, &out.values)
	if out.nullable {
		d.to(msl.MapOutValid, &out.valid)
	}
	if o.gpu.Fails {
		word, err := r.failWord(failWord{function: o.name, misfit: o.fail != nil})
		if err != nil {
			return err
		}
		r.word = word
		d.to(msl.MapErr, &r.word)
	}
	d.rows(msl.MapLen, out.count)
	return d.run(msl.MapArgs, r.mapParams(cols, out.n), groupsOf(out.n, msl.MapRows))
}

// mapParams are the parameters of a Map over some inputs.
func (r *recorder) mapParams(cols []part, n int) []byte {
	a, b, c := &cols[0], &part{}, &part{}
	if len(cols) > 1 {
		b = &cols[1]
	}
	if len(cols) > 2 {
		c = &cols[2]
		return bytesOf(&msl.Map3Params{
			N: uint64(n), AOff: a.off, BOff: b.off, COff: c.off, AValid: a.validOff, BValid: b.validOff, CValid: c.validOff,
			AStride: a.stride, BStride: b.stride, CStride: c.stride,
		})
	}
	r.params = msl.MapParams{
		N: uint64(n), AOff: a.off, BOff: b.off, AValid: a.validOff, BValid: b.validOff, AStride: a.stride, BStride: b.stride,
	}
	return bytesOf(&r.params)
}

// allocate gives a result part its memory: whole words of bits, since kernels write words. On devices with memory of
// their own it lies there.
func (p *part) allocate(r *recorder) (err error) {
	size := wordBytes(p.typ, p.n)
	if !r.e.info.Unified {
		if p.values, p.block, err = r.unseen(size); err == nil && p.nullable {
			p.valid, p.validBlock, err = r.unseen(bitmapBytes(p.n))
		}
		return err
	}
	if p.valueBuf, p.values, err = r.result(size); err != nil {
		return err
	}
	p.host = p.valueBuf.Bytes()
	if p.nullable {
		if p.validBuf, p.valid, err = r.result(bitmapBytes(p.n)); err != nil {
			return err
		}
		p.hostValid = p.validBuf.Bytes()
	}
	return nil
}

// bitmapBytes is the size of a bitmap of n rows in whole 32-bit words.
func bitmapBytes(n int) int { return (n + 31) / 32 * 4 }

func groupsOf(n, each int) int { return (n + each - 1) / each }

// failWord is a zeroed error word that is looked at when the work has ended.
func (r *recorder) failWord(f failWord) (place, error) {
	b, p, err := r.small()
	if err != nil {
		return p, err
	}
	clear(b)
	f.word = b
	r.fails = append(r.fails, f)
	return p, nil
}
