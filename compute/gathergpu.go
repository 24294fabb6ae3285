package compute

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// lookedUp brings a dictionary datum to the device and records the look-up of its values.
func (r *recorder) lookedUp(d Datum, index, t msl.Type) (*value, error) {
	s, ok := d.(*ScalarDatum)
	if ok {
		v, err := castOnce(r.ctx, s, d.(ArrayLikeDatum).Type().(*arrow.DictionaryType).ValueType, true)
		if err != nil {
			return nil, err
		}
		defer v.Release()
		return r.input(v, &call{ins: [maxArgs]msl.Type{t}}, 0)
	}
	v := &value{typ: d.(ArrayLikeDatum).Type().(*arrow.DictionaryType).ValueType}
	v.form, _ = formOf(d)
	for _, chunk := range chunksOf(d) {
		p, err := r.lookUp(chunk, index, t)
		if err != nil {
			return nil, err
		}
		v.parts = append(v.parts, p)
	}
	return v, nil
}

// lookUp records the gather of one chunk.
func (r *recorder) lookUp(chunk arrow.ArrayData, index, t msl.Type) (out part, err error) {
	dict := dictionaryOf(chunk)
	if dict == nil {
		return out, fmt.Errorf("%w: a dictionary array has no dictionary", arrow.ErrInvalid)
	}
	var parts [2]part
	for i, in := range []struct {
		data arrow.ArrayData
		typ  msl.Type
	}{{chunk, index}, {dict, t}} {
		c, err := columnOf(in.data, in.typ, false)
		if err != nil {
			return out, err
		}
		if parts[i], err = r.part(&c); err != nil {
			return out, err
		}
	}
	return r.gather(&parts[0], &parts[1], byWidth[widths[t]], part{typ: t}, "dictionary")
}

// gather records that the rows of out are those of values that at numbers, which move as elements of type t.
func (r *recorder) gather(at, values *part, t msl.Type, out part, function string) (part, error) {
	out.n, out.stride, out.count, out.nullable = at.n, 1, at.count, at.nullable || values.nullable
	if err := out.allocate(r); err != nil || out.n == 0 {
		return out, err
	}
	key := msl.Key{Skeleton: msl.Gather, In: at.typ, Out: t}
	d := r.kernel(key).in(msl.GatherIndex, &at.values).in(msl.GatherDict, &values.values)
	if at.nullable {
		d.key.Flags |= msl.ANulls
		d.in(msl.GatherValid, &at.valid)
	}
	if values.nullable {
		d.key.Flags |= msl.BNulls
		d.in(msl.GatherDictValid, &values.valid)
	}
	d.to(msl.GatherOut, &out.values)
	if out.nullable {
		d.to(msl.GatherOutValid, &out.valid)
	}
	word, err := r.failWord(failWord{function: function})
	if err != nil {
		return out, err
	}
	d.to(msl.GatherErr, &word).rows(msl.GatherLen, at.count)
	params := msl.GatherParams{
		N: uint64(out.n), Off: at.off, Valid: at.validOff,
		Dict: values.off, DictValid: values.validOff, DictLen: uint64(values.n),
	}
	return out, d.run(msl.GatherArgs, bytesOf(&params), groupsOf(out.n, msl.MapRows))
}
