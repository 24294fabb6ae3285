package compute

import (
	"errors"

	ac "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/msl"
)

// errManyChunks says that values lie in several chunks, which kernels do not look through: the call goes to the CPU.
var errManyChunks = errors.New("values in several chunks are taken on the CPU")

// recordTake records the take of values that move as elements of type t, chunk by chunk of the indices.
func recordTake(r *recorder, values, indices *value, t msl.Type) (*value, error) {
	src := values.parts
	if len(src) != 1 || src[0].count != nil || values.form == formScalar || indices.form == formScalar {
		return nil, errManyChunks
	}
	out := &value{typ: values.typ, form: max(values.form, indices.form), parts: make([]part, len(indices.parts))}
	for i := range indices.parts {
		var err error
		if out.parts[i], err = r.gather(&indices.parts[i], &src[0], t, part{typ: t, like: src[0].like}, "take"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// oneChunk says whether a datum is one array, or a chunk.
func oneChunk(d Datum) bool {
	c, ok := d.(*ac.ChunkedDatum)
	return !ok || len(c.Value.Chunks()) == 1
}

// pending says whether only the device will know how many rows a result has.
func (v *Value) pending() bool {
	if v.call == nil {
		return true
	}
	if v.call.cross == crossFilter {
		return true
	}
	for _, a := range v.args {
		if x, ok := a.(*Value); ok && x.form != formScalar && x.pending() {
			return true
		}
	}
	return false
}
