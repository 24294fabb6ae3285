package compute

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// record records an aggregate: every chunk to partial states, then all states to the result.
func (a *aggregate) record(r *recorder, p *aggPlan, opts *ScalarAggregateOptions, mode CountMode, v *value) (*value, error) {
	key := msl.Key{Skeleton: msl.Reduce, Op: p.reduction, In: p.in}
	switch p.reduction {
	case exact:
		key.Skeleton, key.Op = msl.ReduceExact, msl.OpSum
	case msl.OpCount:
		key.In = msl.NoType
	}
	states := 0
	for i := range v.parts {
		states += statesFor(v.parts[i].n)
	}
	// where threadgroups can add to one state they do
	oneState := p.reduction == exact && r.e.info.Caps&msl.Float64 != 0
	if oneState {
		states = 1
	}
	partials, _, err := r.unseen(8 * msl.StateWords(key) * states)
	if err != nil {
		return nil, err
	}
	if oneState {
		if err := r.fill(&partials, 2*msl.StateWords(key), 0); err != nil {
			return nil, err
		}
		r.c.Barrier()
		r.epoch++
	}
	first := 0
	for i := range v.parts {
		groups := statesFor(v.parts[i].n)
		if groups == 0 {
			continue
		}
		if err := recordReduce(r, key, &v.parts[i], &partials, first, groups); err != nil {
			return nil, err
		}
		if !oneState {
			first += groups
		}
	}
	return a.recordFinish(r, p, opts, mode, &partials, states)
}

func statesFor(n int) int { return min(groupsOf(n, msl.Tile), msl.MaxGroups) }

func recordReduce(r *recorder, key msl.Key, c *part, partials *place, first, groups int) error {
	params := msl.ReduceParams{
		N: uint64(c.n), Off: c.off, Valid: c.validOff, Groups: uint32(groups), First: uint32(first),
	}
	d := r.kernel(key).in(msl.ReduceIn, &c.values)
	if c.nullable {
		d.key.Flags |= msl.ANulls
		d.in(msl.ReduceValid, &c.valid)
	}
	// states of different chunks are different words: no barrier between their dispatches
	out := *partials
	out.epoch = 0
	d.to(msl.ReducePartials, &out).rows(msl.ReduceLen, c.count)
	err := d.run(msl.ReduceArgs, bytesOf(&params), groups)
	partials.epoch = out.epoch
	return err
}

// finishNames are the Finish kernels of the count modes.
var finishNames = map[CountMode]string{CountOnlyValid: "count", CountOnlyNull: "count_null", CountAll: "count_all"}

// The result of an aggregate shares one scratch block.
const (
	finishMax   = 32
	finishValid = 64
	finishBytes = 128
)

func (a *aggregate) recordFinish(r *recorder, p *aggPlan, opts *ScalarAggregateOptions, mode CountMode, partials *place, states int) (*value, error) {
	buf, at, err := r.scratch(finishBytes)
	if err != nil {
		return nil, err
	}
	buf.Retain()
	r.results = append(r.results, buf)
	name, out := a.name, p.out
	if name == "count" {
		name = finishNames[mode]
	}
	if st, ok := out.(*arrow.StructType); ok {
		out = st.Field(0).Type
	}
	key := msl.Key{Skeleton: msl.Finish, Op: name, In: p.in, Out: storage(out)}
	if a.name == "count" {
		key.In = msl.NoType
	}
	params := msl.FinishParams{States: uint32(states), MinCount: opts.MinCount}
	if opts.SkipNulls {
		params.SkipNulls = 1
	}
	second, valid := at, at
	second.off += finishMax
	valid.off += finishValid
	d := r.kernel(key).in(msl.FinishPartials, partials).to(msl.FinishOut, &at).to(msl.FinishOutValid, &valid)
	if name == "min_max" {
		d.to(msl.FinishOut2, &second)
	}
	if err := d.run(msl.FinishArgs, bytesOf(&params), 1); err != nil {
		return nil, err
	}
	host := buf.Bytes()
	scalarValue := func(where place, from int) *value {
		return &value{typ: out, form: formScalar, parts: []part{{
			typ: storage(out), n: 1, nullable: true, values: where, valid: valid,
			host: host[from:], hostValid: host[finishValid:], valueBuf: buf, validBuf: buf,
		}}}
	}
	if name != "min_max" {
		return scalarValue(at, 0), nil
	}
	return &value{typ: p.out, form: formScalar, fields: []*value{scalarValue(at, 0), scalarValue(second, finishMax)}}, nil
}
