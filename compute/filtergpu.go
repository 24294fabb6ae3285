package compute

import (
	"context"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// deviceSelection is a mask made ready: which rows are kept, and where each tile's begin in the output.
type deviceSelection struct {
	words, offsets place
	total          *rowCount
	tiles          int
}

// selectionKey names a mask, so that columns filtered by one mask in one recording share its selection.
type selectionKey struct {
	buf, valid    gpu.Buffer
	at, validAt   int
	off, validOff uint64
	n             int
	count         *rowCount
	emit          bool
}

// recordFilter records a filter of values that move as elements of type t.
func recordFilter(r *recorder, values, mask *value, t msl.Type, emit bool) (*value, error) {
	if values.form == formScalar || mask.form == formScalar {
		return nil, errMaskScalar
	}
	runs, f, err := alignParts([]*value{values, mask})
	if err != nil {
		return nil, err
	}
	out := &value{typ: values.typ, form: f, parts: make([]part, len(runs))}
	for i, cols := range runs {
		if out.parts[i], err = r.compact(&cols[0], &cols[1], t, emit); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// compact records the filter of one run.
func (r *recorder) compact(v, mask *part, t msl.Type, emit bool) (part, error) {
	out := part{typ: t, n: v.n, stride: 1, like: v.like, nullable: v.nullable || emit && mask.nullable}
	if err := out.allocate(r); err != nil {
		return out, err
	}
	if v.n == 0 {
		return out, nil
	}
	sel, err := r.selectionOf(mask, emit)
	if err != nil {
		return out, err
	}
	out.count = sel.total
	if err := r.scatter(sel, t, &v.values, v.off, &out.values, v.n); err != nil {
		return out, err
	}
	if !out.nullable {
		return out, nil
	}
	valid, off := v.valid, v.validOff
	switch {
	case !v.nullable:
		valid, off = mask.valid, mask.validOff
	case emit && mask.nullable:
		if valid, err = r.andBits(v, mask); err != nil {
			return out, err
		}
		off = 0
	}
	return out, r.scatter(sel, msl.Bool, &valid, off, &out.valid, v.n)
}

// andBits records the rows where both are valid.
func (r *recorder) andBits(v, mask *part) (place, error) {
	out, _, err := r.unseen(bitmapBytes(v.n))
	if err != nil {
		return out, err
	}
	params := msl.MapParams{N: uint64(v.n), AOff: v.validOff, BOff: mask.validOff, AStride: 1, BStride: 1}
	d := r.kernel(msl.Key{Skeleton: msl.Map, Op: "and", In: msl.Bool, Out: msl.Bool})
	d.in(msl.MapA, &v.valid).in(msl.MapB, &mask.valid).to(msl.MapOut, &out)
	return out, d.run(msl.MapArgs, bytesOf(&params), groupsOf(v.n, msl.MapRows))
}

// selectionOf records the two passes over the mask, once for each mask.
func (r *recorder) selectionOf(mask *part, emit bool) (*deviceSelection, error) {
	id := selectionKey{
		buf: mask.values.buf, at: mask.values.off, off: mask.off, valid: mask.valid.buf, validAt: mask.valid.off,
		validOff: mask.validOff, n: mask.n, count: mask.count, emit: emit,
	}
	if sel := r.shared[id]; sel != nil {
		return sel, nil
	}
	sel := &deviceSelection{tiles: groupsOf(mask.n, msl.Tile), total: &rowCount{most: mask.n}}
	var counts place
	var err error
	for _, s := range []struct {
		at   *place
		size int
	}{{&sel.words, bitmapBytes(mask.n)}, {&counts, 4 * sel.tiles}, {&sel.offsets, 8 * sel.tiles}} {
		if *s.at, _, err = r.unseen(s.size); err != nil {
			return nil, err
		}
	}
	total, at, err := r.scratch(16)
	if err != nil {
		return nil, err
	}
	total.Retain()
	r.results = append(r.results, total)
	sel.total.at, sel.total.host = at, total.Bytes()
	if !r.e.info.Unified {
		// later kernels read the number of rows from the device's own memory
		if sel.total.at, _, err = r.unseen(16); err != nil {
			return nil, err
		}
	}

	key := msl.Key{Skeleton: msl.CompactCount}
	params := msl.CountParams{N: uint64(mask.n), Mask: mask.off, Valid: mask.validOff}
	if mask.nullable {
		key.Flags |= msl.ANulls
		if emit {
			key.Flags |= msl.EmitNull
		}
	}
	d := r.kernel(key).in(msl.CountMask, &mask.values)
	if mask.nullable {
		d.in(msl.CountMaskValid, &mask.valid)
	}
	d.to(msl.CountSelection, &sel.words).to(msl.CountCounts, &counts).rows(msl.CountLen, mask.count)
	if err := d.run(msl.CountArgs, bytesOf(&params), sel.tiles); err != nil {
		return nil, err
	}
	scan := msl.ScanParams{Tiles: uint32(sel.tiles)}
	d = r.kernel(msl.Key{Skeleton: msl.CompactScan})
	d.in(msl.ScanCounts, &counts).to(msl.ScanOffsets, &sel.offsets).to(msl.ScanTotal, &sel.total.at)
	if err := d.run(msl.ScanArgs, bytesOf(&scan), 1); err != nil {
		return nil, err
	}
	if !r.e.info.Unified {
		r.c.Barrier()
		r.epoch++
		r.c.Copy(at.buf, at.off, sel.total.at.buf, sel.total.at.off, 8)
	}
	if r.shared == nil {
		r.shared = map[selectionKey]*deviceSelection{}
	}
	r.shared[id] = sel
	return sel, nil
}

// scatter records the move of selected elements of type t.
func (r *recorder) scatter(sel *deviceSelection, t msl.Type, in *place, off uint64, out *place, n int) error {
	if t == msl.Bool {
		// tiles or their bits into words that they share
		fill := msl.FillParams{Words: uint64(bitmapBytes(n) / 4)}
		d := r.kernel(msl.Key{Skeleton: msl.Fill}).to(msl.FillOut, out)
		if err := d.run(msl.FillArgs, bytesOf(&fill), groupsOf(bitmapBytes(n)/4, msl.FillWords)); err != nil {
			return err
		}
	}
	params := msl.ScatterParams{N: uint64(n), Off: off}
	d := r.kernel(msl.Key{Skeleton: msl.CompactScatter, In: t})
	d.in(msl.ScatterIn, in).in(msl.ScatterSelection, &sel.words).in(msl.ScatterOffsets, &sel.offsets)
	d.to(msl.ScatterOut, out)
	return d.run(msl.ScatterArgs, bytesOf(&params), sel.tiles)
}

// filterOnDevice filters those columns that dispatch sends to a device, in one recording that shares the selection, and
// fills in their results. What fails there is left to the CPU.
func filterOnDevice(ctx context.Context, cols []Datum, mask Datum, o *FilterOptions, out []Datum) error {
	type job struct {
		i int
		c *call
	}
	var jobs []job
	var e *engine
	for i, col := range cols {
		al := col.(ArrayLikeDatum)
		c, err := functions["filter"].(*function).resolve(o, typesOf(al, mask.(ArrayLikeDatum)))
		if err != nil {
			continue
		}
		if on := c.choose(ctx, []Datum{col, mask}, nil); on != nil && on.admit(ctx, c, []Datum{col, mask}) == nil {
			e, jobs = on, append(jobs, job{i, c})
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	r := e.newRecorder(ctx)
	defer r.release()
	err := func() error {
		m, err := r.input(mask, jobs[0].c, 1)
		if err != nil {
			return err
		}
		done := make([]*value, len(jobs))
		for k, j := range jobs {
			v, err := r.input(cols[j.i], j.c, 0)
			if err != nil {
				return err
			}
			if done[k], err = j.c.gpu(r, []*value{v, m}); err != nil {
				return err
			}
		}
		if err := r.finish(ctx); err != nil {
			return err
		}
		for k, j := range jobs {
			if err := r.bringRest(ctx, done[k]); err != nil {
				return err
			}
			if out[j.i], err = r.datum(done[k]); err != nil {
				return err
			}
			countRun("filter", e.info.Driver, cols[j.i].Len())
		}
		return nil
	}()
	if err == nil || isUsers(err) {
		return err
	}
	e.fellBack(ctx, "filter", err)
	return nil
}
