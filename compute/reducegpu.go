package compute

import (
	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/msl"
)

// record records an aggregate: every chunk to partial states, then all states to the result.
func (a *aggregate) record(r *recorder, p *aggPlan, opts *ScalarAggregateOptions, mode CountMode, one *oneGroup, v *value) (*value, error) {
	if one != nil && !r.many && len(v.parts) == 1 && v.parts[0].n <= fewRows {
		return one.record(r, &v.parts[0])
	}
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
	finishBytes = smallBytes
)

// field is the type of one value of the result.
func (a *aggregate) field(p *aggPlan) arrow.DataType {
	if st, ok := p.out.(*arrow.StructType); ok {
		return st.Field(0).Type
	}
	return p.out
}

// finishName is the op of the kernel that makes the result.
func (a *aggregate) finishName(mode CountMode) string {
	if a.name == "count" {
		return finishNames[mode]
	}
	return a.name
}

// resultPlaces are where an aggregate's kernel puts its result; second is the maximum of min_max.
type resultPlaces struct {
	buf                  *arrowmem.Buffer // that it is in
	host                 []byte
	value, second, valid place
}

// places makes room for the result of an aggregate.
func (r *recorder) places() (at resultPlaces, err error) {
	host, first, err := r.small()
	if err != nil {
		return at, err
	}
	at = resultPlaces{r.slabNow.buf, host, first, first, first}
	at.second.off += finishMax
	at.valid.off += finishValid
	return at, nil
}

// result is the value of an aggregate whose kernel is recorded.
func (at *resultPlaces) result(a *aggregate, p *aggPlan) *value {
	out, host := a.field(p), at.host
	one := func(where place, from int) *value {
		return &value{typ: out, form: formScalar, parts: []part{{
			typ: storage(out), n: 1, nullable: true, values: where, valid: at.valid,
			host: host[from:], hostValid: host[finishValid:], valueBuf: at.buf, validBuf: at.buf,
		}}}
	}
	if a.name != "min_max" {
		return one(at.value, 0)
	}
	return &value{typ: p.out, form: formScalar, fields: []*value{one(at.value, 0), one(at.second, finishMax)}}
}

func (a *aggregate) recordFinish(r *recorder, p *aggPlan, opts *ScalarAggregateOptions, mode CountMode, partials *place, states int) (*value, error) {
	key := msl.Key{Skeleton: msl.Finish, Op: a.finishName(mode), In: p.in, Out: storage(a.field(p))}
	if a.name == "count" {
		key.In = msl.NoType
	}
	params := msl.FinishParams{States: uint32(states), MinCount: opts.MinCount}
	if opts.SkipNulls {
		params.SkipNulls = 1
	}
	at, err := r.places()
	if err != nil {
		return nil, err
	}
	d := r.kernel(key).in(msl.FinishPartials, partials).to(msl.FinishOut, &at.value).to(msl.FinishOutValid, &at.valid)
	if a.name == "min_max" {
		d.to(msl.FinishOut2, &at.second)
	}
	if err := d.run(msl.FinishArgs, bytesOf(&params), 1); err != nil {
		return nil, err
	}
	return at.result(a, p), nil
}
