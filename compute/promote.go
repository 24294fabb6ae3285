package compute

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// errNoKernel says that the engine has no kernel for these types: the call goes to arrow-go.
var errNoKernel = errors.New("no kernel for these types")

// bare is the type of a value once dictionaries and extensions are looked through.
func bare(t arrow.DataType) arrow.DataType {
	switch d := t.(type) {
	case *arrow.DictionaryType:
		return bare(d.ValueType)
	case arrow.ExtensionType:
		return bare(d.StorageType())
	}
	return t
}

// bareTypes looks through dictionaries and gives a null-typed argument the type of the other one.
func bareTypes(in []arrow.DataType) (a, b arrow.DataType) {
	a, b = bare(in[0]), bare(in[1])
	if a.ID() == arrow.NULL {
		a = b
	} else if b.ID() == arrow.NULL {
		b = a
	}
	return a, b
}

// steps are the casts from one type to another by way of the given types; a cast that changes nothing is left out.
func steps(from arrow.DataType, via ...arrow.DataType) []arrow.DataType {
	var out []arrow.DataType
	if t := bare(from); t != from {
		out, from = append(out, t), t
	}
	for _, t := range via {
		if t != nil && !sameValues(from, t) {
			out, from = append(out, t), t
		}
	}
	return out
}

// sameValues says that values of both types are stored alike and mean the same, so that no cast is needed: time zones
// are labels of instants.
func sameValues(a, b arrow.DataType) bool {
	if ta, ok := a.(*arrow.TimestampType); ok {
		if tb, ok := b.(*arrow.TimestampType); ok {
			return ta.Unit == tb.Unit
		}
	}
	return arrow.TypeEqual(a, b)
}

// samePlan casts both inputs to t and computes over it.
func samePlan(in []arrow.DataType, t, out arrow.DataType) (*plan, error) {
	s := storage(t)
	if s == msl.NoType {
		return nil, errNoKernel
	}
	p := &plan{in: s, out: out}
	for i, from := range in {
		p.casts[i] = steps(from, t)
	}
	return p, nil
}

// commonNumeric is the type in which two numeric values meet: the wider float if there is a float, else an integer that
// holds both where one exists, at most 64 bits wide.
func commonNumeric(a, b arrow.DataType) arrow.DataType {
	if arrow.TypeEqual(a, b) {
		return a
	}
	sa, sb := storage(a), storage(b)
	switch {
	case sa == msl.F64 || sb == msl.F64:
		return arrow.PrimitiveTypes.Float64
	case sa == msl.F32 || sb == msl.F32:
		return arrow.PrimitiveTypes.Float32
	case isUnsigned(sa) == isUnsigned(sb):
		if widths[sa] >= widths[sb] {
			return a
		}
		return b
	}
	signed, unsigned := sa, sb
	if isUnsigned(sa) {
		signed, unsigned = sb, sa
	}
	w := widths[signed]
	if w <= widths[unsigned] {
		w = min(2*widths[unsigned], 8)
	}
	return signedOfWidth[w]
}

var signedOfWidth = [...]arrow.DataType{
	1: arrow.PrimitiveTypes.Int8,
	2: arrow.PrimitiveTypes.Int16,
	4: arrow.PrimitiveTypes.Int32,
	8: arrow.PrimitiveTypes.Int64,
}

// compareTypes: both sides meet in one type. Instants with and without a zone do not compare.
func compareTypes(in []arrow.DataType) (*plan, error) {
	a, b := bareTypes(in)
	out := arrow.FixedWidthTypes.Boolean
	switch {
	case a.ID() == arrow.BOOL && b.ID() == arrow.BOOL:
		return samePlan(in, a, out)
	case isNumeric(a) && isNumeric(b):
		return samePlan(in, commonNumeric(a, b), out)
	case isTemporal(a) && isTemporal(b):
		t, err := commonTemporal(a, b)
		if err != nil {
			return nil, err
		}
		return samePlan(in, t, out)
	}
	return nil, errNoKernel
}

// boolTypes: Bool and nothing else.
func boolTypes(in []arrow.DataType) (*plan, error) {
	for _, t := range in {
		if t.ID() != arrow.BOOL {
			return nil, errNoKernel
		}
	}
	return &plan{in: msl.Bool, out: arrow.FixedWidthTypes.Boolean}, nil
}

// anyTypes: the validity of whatever has a validity bitmap of its own; a null-typed column gets one by a cast.
func anyTypes(in []arrow.DataType) (*plan, error) {
	p := &plan{in: msl.Bool, out: arrow.FixedWidthTypes.Boolean, validity: true}
	switch in[0].ID() {
	case arrow.SPARSE_UNION, arrow.DENSE_UNION, arrow.RUN_END_ENCODED:
		return nil, errNoKernel
	case arrow.NULL:
		p.casts[0] = []arrow.DataType{arrow.FixedWidthTypes.Boolean}
	}
	return p, nil
}

// floatTypes: floats.
func floatTypes(in []arrow.DataType) (*plan, error) {
	if s := storage(in[0]); isFloat(s) {
		return &plan{in: s, out: arrow.FixedWidthTypes.Boolean}, nil
	}
	return nil, errNoKernel
}

// isNaNTypes: floats; arrow-go says false of other numbers and durations.
func isNaNTypes(in []arrow.DataType) (*plan, error) {
	t := in[0]
	if isNumeric(t) || t.ID() == arrow.DURATION || t.ID() == arrow.NULL || arrow.IsDecimal(t.ID()) {
		return floatTypes(in)
	}
	return nil, fmt.Errorf("%w: function 'is_nan' has no kernel matching input types (%s)", arrow.ErrNotImplemented, t)
}

// nanTypes: every number and durations; a null-typed column counts as float64.
func nanTypes(in []arrow.DataType) (*plan, error) {
	t := in[0]
	p := &plan{in: storage(t), out: arrow.FixedWidthTypes.Boolean}
	switch {
	case t.ID() == arrow.NULL:
		p.in, p.casts[0] = msl.F64, []arrow.DataType{arrow.PrimitiveTypes.Float64}
	case !isNumeric(t) && t.ID() != arrow.DURATION:
		return nil, errNoKernel
	}
	return p, nil
}
