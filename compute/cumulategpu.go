package compute

import (
	"github.com/broadhead-go/broadhead/msl"
)

// record records the sums of all chunks, one after the other: each begins where the one before ended.
func (k *cumulation) record(r *recorder, v *value) (*value, error) {
	out := &value{typ: v.typ, form: v.form}
	var carry place
	mayEnd := false
	for i := range v.parts {
		p := &v.parts[i]
		if p.n == 0 && v.form == formChunked {
			continue
		}
		mayEnd = mayEnd || p.nullable
		done := part{typ: k.in, n: p.n, stride: 1, count: p.count, nullable: p.nullable || k.stops && mayEnd}
		if err := done.allocate(r); err != nil {
			return nil, err
		}
		if p.n > 0 {
			if err := k.recordChunk(r, p, &done, &carry); err != nil {
				return nil, err
			}
		}
		out.parts = append(out.parts, done)
	}
	return out, nil
}

// recordChunk records one chunk. carry is where the chunk before ended, if there was one, and then where this one does.
func (k *cumulation) recordChunk(r *recorder, in, out *part, carry *place) error {
	onePass := r.e.info.Caps&msl.ForwardProgress != 0
	tiles := groupsOf(in.n, msl.CumulateRows)
	if onePass {
		tiles = groupsOf(in.n, msl.LookbackRows)
	}
	params := msl.CumulateParams{
		N: uint64(in.n), Off: in.off, Valid: in.validOff, Start: k.start, Tiles: uint32(tiles),
		Stops: uint32(btoi(k.stops)), GoesOn: uint32(btoi(carry.buf != nil)),
	}
	words := 2*msl.CumulateStates*tiles + 2
	states, _, err := r.unseen(4 * words)
	if err != nil {
		return err
	}
	next, _, err := r.unseen(8 * msl.CumulateStates)
	if err != nil {
		return err
	}
	from := *carry
	if from.buf == nil {
		from = next // bound, and not read
		from.epoch = 0
	}
	valid := in.valid
	if out.nullable && !in.nullable {
		// a null of an earlier chunk may end the sum
		if valid, err = r.filled(in.n); err != nil {
			return err
		}
		params.Valid = 0
	}
	rows := func(key msl.Key) *dispatch {
		key.In = k.in
		d := r.kernel(key).in(msl.CumulateIn, &in.values)
		if out.nullable {
			d.key.Flags |= msl.ANulls
			d.in(msl.CumulateValid, &valid)
		}
		return d.rows(msl.CumulateLen, in.count)
	}
	results := func(d *dispatch) error {
		d.to(msl.CumulateOut, &out.values)
		if out.nullable {
			d.to(msl.CumulateOutValid, &out.valid)
		}
		if k.checked {
			word, err := r.failWord(failWord{function: k.op})
			if err != nil {
				return err
			}
			d.to(msl.CumulateErr, &word)
		}
		return nil
	}
	defer func() { *carry = next }()
	if onePass {
		if err := r.fill(&states, words, 0); err != nil {
			return err
		}
		d := rows(msl.Key{Skeleton: msl.CumulateLookback, Op: k.op}).to(msl.CumulateStatesAt, &states)
		d.in(msl.CumulateCarry, &from).to(msl.CumulateNext, &next)
		if err := results(d); err != nil {
			return err
		}
		return d.run(msl.CumulateArgs, bytesOf(&params), tiles)
	}
	d := rows(msl.Key{Skeleton: msl.CumulateReduce}).to(msl.CumulateStatesAt, &states)
	if err := d.run(msl.CumulateArgs, bytesOf(&params), tiles); err != nil {
		return err
	}
	d = r.kernel(msl.Key{Skeleton: msl.CumulateScan}).to(msl.CumulateStatesAt, &states)
	d.in(msl.CumulateCarry, &from).to(msl.CumulateNext, &next)
	if err := d.run(msl.CumulateArgs, bytesOf(&params), 1); err != nil {
		return err
	}
	d = rows(msl.Key{Skeleton: msl.CumulateApply, Op: k.op}).in(msl.CumulateStatesAt, &states)
	if err := results(d); err != nil {
		return err
	}
	return d.run(msl.CumulateArgs, bytesOf(&params), tiles)
}

// filled is a bitmap of n rows, all set.
func (r *recorder) filled(n int) (place, error) {
	p, _, err := r.unseen(bitmapBytes(n))
	if err != nil {
		return p, err
	}
	return p, r.fill(&p, bitmapBytes(n)/4, ^uint32(0))
}

// fill records that words of 32 bits become a value.
func (r *recorder) fill(p *place, words int, v uint32) error {
	params := msl.FillParams{Words: uint64(words), Value: v}
	d := r.kernel(msl.Key{Skeleton: msl.Fill}).to(msl.FillOut, p)
	return d.run(msl.FillArgs, bytesOf(&params), groupsOf(words, msl.FillWords))
}
