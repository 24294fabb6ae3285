package compute

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute/internal/hash"
	"github.com/broadhead-go/broadhead/msl"
)

// elements is the element type that a device reads values of a kind as, NoType where it looks none up.
func (k keyKind) elements() msl.Type {
	switch k {
	case keys8, keys16, keys32, keys64:
		return k.patterns()
	case float32Keys:
		return msl.F32
	case float64Keys:
		return msl.F64
	}
	return msl.NoType
}

// smallPatterns are a set's values in order, each once; nil where they are more than a device takes.
func smallPatterns[T hash.Key](values []T) []uint64 {
	const surely = 16 * msl.MaxSet // more are not looked through
	if len(values) > surely {
		return nil
	}
	out := make([]uint64, len(values))
	for i, v := range values {
		out[i] = uint64(v)
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > msl.MaxSet {
		return nil
	}
	return out
}

// onDevice gives a call of is_in over arguments of type in its kernel, or the reason why it has none.
func (m *membership) onDevice(c *call, in arrow.DataType) {
	s := storage(in)
	if n := len(c.casts[0]); n > 0 {
		s = storage(c.casts[0][n-1])
	}
	c.in, c.ins[0], c.arraysOnly = s, s, true
	c.admit = admitKey{op: "is_in", in: s, out: msl.Bool, matching: m.nulls, setNull: m.hasNull}
	switch {
	case m.kind.elements() == msl.NoType || s == msl.NoType:
		c.noGPU = fmt.Sprintf("no GPU kernel for %s", in)
		return
	case m.small == nil:
		c.noGPU = fmt.Sprintf("a device takes a set of %d values at most", msl.MaxSet)
		return
	case !c.easyCasts(&plan{in: s, casts: c.casts}, []arrow.DataType{in}):
		c.noGPU = fmt.Sprintf("%s needs a cast, which has no GPU kernel", in)
		return
	}
	c.gpu = m.kernel(c)
	c.trial = func() (*call, error) {
		other, err := m.trial(s)
		if err != nil {
			return nil, err
		}
		t := *c
		t.cpu, t.gpu = other.run, other.kernel(c)
		return &t, nil
	}
}

func (m *membership) kernel(c *call) gpuKernel {
	return func(r *recorder, args []*value) (*value, error) {
		args, err := c.recordCasts(r, args)
		if err != nil {
			return nil, err
		}
		return m.record(r, args[0])
	}
}

// trial is a set of the same kind for admission: of special values and of some mild ones.
func (m *membership) trial(s msl.Type) (*membership, error) {
	rng := rand.New(rand.NewPCG(11, uint64(s)))
	special, mild := testColumn(rng, s, true, m.hasNull, 0), testColumn(rng, s, false, false, 0)
	defer special.Release()
	defer mild.Release()
	parts := []arrow.Array{array.NewSlice(special, 0, 100), array.NewSlice(mild, 0, 3)}
	set := arrow.NewChunked(special.DataType(), parts)
	defer set.Release()
	for _, p := range parts {
		p.Release()
	}
	return newMembership(&valueSet{typ: set.DataType(), values: NewDatumWithoutOwning(set), nulls: m.nulls})
}

// record records the look-up of every chunk.
func (m *membership) record(r *recorder, v *value) (*value, error) {
	out := &value{typ: arrow.FixedWidthTypes.Boolean, form: v.form, parts: make([]part, len(v.parts))}
	for i := range v.parts {
		var err error
		if out.parts[i], err = m.recordPart(r, &v.parts[i]); err != nil {
			return nil, err
		}
		if v.form == formScalar {
			out.parts[i].stride = 0
		}
	}
	return out, nil
}

func (m *membership) recordPart(r *recorder, p *part) (part, error) {
	out := part{typ: msl.Bool, n: p.n, stride: 1, count: p.count, nullable: m.mayBeNull(p.nullable)}
	if err := out.allocate(r); err != nil || out.n == 0 {
		return out, err
	}
	d := r.kernel(msl.Key{Skeleton: msl.Member, In: m.kind.elements()}).in(msl.MemberIn, &p.values)
	if p.nullable {
		d.key.Flags |= msl.ANulls
		d.in(msl.MemberValid, &p.valid)
	}
	d.to(msl.MemberOut, &out.values)
	if out.nullable {
		d.key.Flags |= msl.EmitNull
		d.to(msl.MemberOutValid, &out.valid)
	}
	d.rows(msl.MemberLen, p.count)
	params := msl.MemberParams{
		N: uint64(p.n), Off: p.off, Valid: p.validOff, Stride: p.stride,
		NullFound: uint32(btoi(m.nulls == NullMatchingMatch && m.hasNull)),
		OnlyFound: uint32(btoi(m.nulls == NullMatchingInconclusive && m.hasNull)),
	}
	if n := len(m.small); n > 0 {
		for params.Size = 1; int(params.Size) < n; params.Size *= 2 {
		}
		for i := range params.Size {
			params.Set[i] = m.small[min(int(i), n-1)]
		}
	}
	return out, d.run(msl.MemberArgs, bytesOf(&params), groupsOf(p.n, msl.MapRows))
}
