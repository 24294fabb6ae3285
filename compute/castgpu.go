package compute

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// typeCast is a cast by a kernel.
type typeCast struct {
	op   *op
	plan *plan
}

// easyCasts finds out how a call's arguments come to the kernel's type by kernels alone, as they have to on a device:
// dictionaries of values of fixed width are looked up and numbers cast; what is stored alike needs nothing. It is false
// where only the casts of the CPU can do it.
func (c *call) easyCasts(p *plan, in []arrow.DataType) bool {
	if p.limit != 0 || p.narrow != nil {
		return false
	}
	for i, steps := range p.casts[:len(in)] {
		if len(steps) == 0 {
			continue
		}
		t := in[i]
		if d, ok := t.(*arrow.DictionaryType); ok {
			if !sameValues(d.ValueType, steps[0]) || widths[storage(d.ValueType)] == 0 {
				return false
			}
			t, steps = d.ValueType, steps[1:]
			c.dicts[i] = storage(d.IndexType)
		}
		if c.ins[i] = storage(t); c.ins[i] == msl.NoType {
			return false
		}
		for _, to := range steps {
			from := storage(t)
			switch {
			case sameValues(t, to) || storedAlike(t, to):
			case castable(t) && castable(to):
				safe := SafeCastOptions(to)
				safe.AllowFloatTruncate = p.rounds && to.ID() == arrow.FLOAT64
				checked := castFails(safe, from, storage(to))
				c.deviceCasts[i] = append(c.deviceCasts[i], typeCast{&castOps[btoi(checked)][storage(to)], &plan{in: from, out: to}})
			default:
				return false
			}
			t = to
		}
	}
	c.admit.dicts, c.admit.ins, c.admit.rounds = c.dicts, c.ins, c.rounds
	return true
}

// recordCasts records the casts of a call's arguments.
func (c *call) recordCasts(r *recorder, args []*value) ([]*value, error) {
	for i, casts := range c.deviceCasts {
		if len(casts) > 0 && args[i].form == formScalar && args[i].parts[0].typ == c.castTarget(i) {
			continue // the host did
		}
		for _, cast := range casts {
			v, err := cast.op.record(r, cast.plan, []*value{args[i]})
			if err != nil {
				return nil, err
			}
			args[i] = v
		}
	}
	return args, nil
}

// castTarget is the element type that the casts of an argument end with.
func (c *call) castTarget(arg int) msl.Type {
	steps := c.casts[arg]
	return storage(steps[len(steps)-1])
}

// errMisfit says that a checked cast failed on a device, which does not know at which value: the CPU words the error.
var errMisfit = fmt.Errorf("%w: a value does not fit the type that it is cast to", arrow.ErrInvalid)

func isMisfit(err error) bool { return errors.Is(err, errMisfit) }
