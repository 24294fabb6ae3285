package compute

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// ifElseTypes: a condition, and two arguments that meet in one type.
func ifElseTypes(in []arrow.DataType) (*plan, error) {
	t, err := chosenType(in[1:], meetsNull|sameZone)
	if err != nil {
		return nil, err
	}
	p, err := rawPlan(in, 1, t)
	switch id := bare(in[0]).ID(); {
	case err != nil:
	case id != arrow.BOOL && id != arrow.NULL:
		err = errNoKernel
	default:
		p.casts[0] = steps(in[0], arrow.FixedWidthTypes.Boolean)
	}
	return p, err
}

// coalesceTypes: arguments that meet in one type.
func coalesceTypes(in []arrow.DataType) (*plan, error) {
	t, err := chosenType(in, 0)
	if err != nil {
		return nil, err
	}
	return rawPlan(in, 0, t)
}

// fillTypes: what fills is cast to the type of what it fills.
func fillTypes(in []arrow.DataType) (*plan, error) { return rawPlan(in, 0, in[0]) }

// rawPlan moves values of type t, to which the arguments from first on are cast, as unsigned integers of their width.
func rawPlan(in []arrow.DataType, first int, t arrow.DataType) (*plan, error) {
	p := &plan{in: rawOf(t), out: t, raw: true}
	if p.in == msl.NoType {
		return nil, errNoKernel
	}
	for i := first; i < len(in); i++ {
		p.casts[i] = stepsTo(in[i], t)
	}
	return p, nil
}

// rawOf is the unsigned type of the width of values that lie in one buffer, Bool for booleans, NoType for other types.
func rawOf(t arrow.DataType) msl.Type {
	switch t.ID() {
	case arrow.BOOL:
		return msl.Bool
	case arrow.FLOAT16, arrow.INTERVAL_MONTHS, arrow.INTERVAL_DAY_TIME:
		return byWidth[t.(arrow.FixedWidthDataType).Bytes()]
	}
	if s := storage(t); s != msl.NoType {
		return byWidth[widths[s]]
	}
	return msl.NoType
}

// stepsTo are the casts to a type; dictionaries and extensions stay what they are where the type is theirs.
func stepsTo(from, to arrow.DataType) []arrow.DataType {
	if arrow.TypeEqual(from, to) {
		return nil
	}
	return steps(from, to)
}

// meeting says what may meet.
type meeting uint8

const (
	meetsNull meeting = 1 << iota // a null-typed argument meets any type
	sameZone                      // timestamps must have the same zone
)

// chosenType is the type in which arguments meet of which one is chosen.
func chosenType(in []arrow.DataType, rules meeting) (arrow.DataType, error) {
	t := in[0]
	for _, x := range in[1:] {
		var err error
		if t, err = meet(t, x, rules); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func meet(a, b arrow.DataType, rules meeting) (arrow.DataType, error) {
	if arrow.TypeEqual(a, b) {
		return a, nil
	}
	if rules&meetsNull != 0 {
		switch {
		case a.ID() == arrow.NULL:
			return b, nil
		case b.ID() == arrow.NULL:
			return a, nil
		}
	}
	if a.ID() == arrow.EXTENSION || b.ID() == arrow.EXTENSION {
		return nil, errNoKernel
	}
	a, b = bare(a), bare(b)
	switch {
	case arrow.TypeEqual(a, b):
		return a, nil
	case isNumeric(a) && isNumeric(b):
		return commonNumeric(a, b), nil
	case arrow.IsBaseBinary(a.ID()) && arrow.IsBaseBinary(b.ID()):
		return commonBinary(a.ID(), b.ID()), nil
	case isInstant(a) && isInstant(b) && !(isDate(a) && isDate(b)):
		if za, zb := zoneOf(a), zoneOf(b); za != zb && rules&sameZone != 0 && a.ID() == b.ID() {
			return nil, fmt.Errorf("%w: all types must be compatible, expected: %s, but got: %s", arrow.ErrInvalid, a, b)
		}
		zone := zoneOf(a)
		if isDate(a) {
			zone = zoneOf(b)
		}
		return timestampOf(finestUnit(a, b), zone), nil
	case isTemporal(a) && isTemporal(b):
		return commonTemporal(a, b)
	}
	return nil, errNoKernel
}

// commonBinary is the type that holds strings or binaries of both types.
func commonBinary(a, b arrow.Type) arrow.DataType {
	text := func(t arrow.Type) bool { return t == arrow.STRING || t == arrow.LARGE_STRING }
	large := func(t arrow.Type) bool { return t == arrow.LARGE_STRING || t == arrow.LARGE_BINARY }
	switch isText, isLarge := text(a) && text(b), large(a) || large(b); {
	case isText && isLarge:
		return arrow.BinaryTypes.LargeString
	case isText:
		return arrow.BinaryTypes.String
	case isLarge:
		return arrow.BinaryTypes.LargeBinary
	}
	return arrow.BinaryTypes.Binary
}
