package compute

import (
	"cmp"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// unitOf is the resolution of a temporal type; days count as seconds, the coarsest unit there is.
func unitOf(t arrow.DataType) arrow.TimeUnit {
	switch d := t.(type) {
	case *arrow.Date64Type:
		return arrow.Millisecond
	case arrow.TemporalWithUnit:
		return d.TimeUnit()
	}
	return arrow.Second
}

func finestUnit(a, b arrow.DataType) arrow.TimeUnit { return max(unitOf(a), unitOf(b)) }

func isDate(t arrow.DataType) bool { return t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 }

func isTime(t arrow.DataType) bool { return t.ID() == arrow.TIME32 || t.ID() == arrow.TIME64 }

func isInstant(t arrow.DataType) bool { return isDate(t) || t.ID() == arrow.TIMESTAMP }

// zoneOf is the zone label of an instant; dates have none.
func zoneOf(t arrow.DataType) string {
	if ts, ok := t.(*arrow.TimestampType); ok {
		return ts.TimeZone
	}
	return ""
}

func timestampOf(u arrow.TimeUnit, zone string) arrow.DataType {
	return &arrow.TimestampType{Unit: u, TimeZone: zone}
}

func durationOf(u arrow.TimeUnit) arrow.DataType { return &arrow.DurationType{Unit: u} }

// timeOf is the time of day with a unit: 32 bits for seconds and milliseconds.
func timeOf(u arrow.TimeUnit) arrow.DataType {
	if u > arrow.Millisecond {
		return &arrow.Time64Type{Unit: u}
	}
	return &arrow.Time32Type{Unit: u}
}

// dayTicks is the length of a day in a unit.
func dayTicks(u arrow.TimeUnit) int64 { return 86_400 * ticksPerSecond[u] }

var ticksPerSecond = [...]int64{
	arrow.Second: 1, arrow.Millisecond: 1e3, arrow.Microsecond: 1e6, arrow.Nanosecond: 1e9,
}

// checkZones refuses zones that do not exist and a timestamp with a zone beside one without.
func checkZones(verb string, a, b arrow.DataType) error {
	for _, t := range []arrow.DataType{a, b} {
		if ts, ok := t.(*arrow.TimestampType); ok {
			if _, err := ts.GetZone(); err != nil {
				return fmt.Errorf("%w: invalid timestamp timezone %q: %v", arrow.ErrInvalid, ts.TimeZone, err)
			}
		}
	}
	if a.ID() == arrow.TIMESTAMP && b.ID() == arrow.TIMESTAMP && (zoneOf(a) == "") != (zoneOf(b) == "") {
		return fmt.Errorf("%w: cannot %s timestamp with timezone to timestamp without timezone, got: %s and %s",
			arrow.ErrInvalid, verb, a, b)
	}
	return nil
}

// commonTemporal is the type in which two temporal values compare: the finest unit of the kind.
func commonTemporal(a, b arrow.DataType) (arrow.DataType, error) {
	if err := checkZones("compare", a, b); err != nil {
		return nil, err
	}
	u := finestUnit(a, b)
	switch {
	case a.ID() == arrow.DATE32 && b.ID() == arrow.DATE32:
		return arrow.FixedWidthTypes.Date32, nil
	case isDate(a) && isDate(b):
		return arrow.FixedWidthTypes.Date64, nil
	case isInstant(a) && isInstant(b):
		return timestampOf(u, cmp.Or(zoneOf(a), zoneOf(b))), nil
	case isTime(a) && isTime(b):
		return timeOf(u), nil
	case a.ID() == arrow.DURATION && b.ID() == arrow.DURATION:
		return durationOf(u), nil
	}
	return nil, errNoKernel
}

// toInt64 are the casts that bring a time of day to int64 in unit u.
func toInt64(from arrow.DataType, u arrow.TimeUnit) []arrow.DataType {
	if u > arrow.Millisecond {
		return steps(from, timeOf(u), arrow.PrimitiveTypes.Int64)
	}
	return steps(from, timeOf(u), arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64)
}

// addTypes: numbers, and time plus duration in either order.
func addTypes(in []arrow.DataType) (*plan, error) {
	a, b := bareTypes(in)
	if b.ID() != arrow.DURATION && a.ID() == arrow.DURATION {
		p, err := shiftPlan(in[1], b, in[0], a)
		if p != nil {
			p.casts[0], p.casts[1] = p.casts[1], p.casts[0]
		}
		return p, err
	}
	if isNumeric(a) && isNumeric(b) {
		t := commonNumeric(a, b)
		return samePlan(in, t, t)
	}
	return shiftPlan(in[0], a, in[1], b)
}

// shiftPlan moves an instant, a time of day or a duration by a duration. from are the types before dictionaries are
// looked through.
func shiftPlan(fromA, a, fromB, b arrow.DataType) (*plan, error) {
	if b.ID() != arrow.DURATION {
		return nil, errNoKernel
	}
	u := finestUnit(a, b)
	p := &plan{in: msl.I64}
	p.casts[1] = steps(fromB, durationOf(u))
	switch {
	case isInstant(a):
		if err := checkZones("add", a, a); err != nil {
			return nil, err
		}
		p.out = timestampOf(u, zoneOf(a))
		p.casts[0] = steps(fromA, p.out)
	case a.ID() == arrow.DURATION:
		p.out = durationOf(u)
		p.casts[0] = steps(fromA, p.out)
	case isTime(a):
		p.limit, p.out = dayTicks(u), timeOf(u)
		p.casts[0] = steps(fromA, p.out)
		if u <= arrow.Millisecond {
			p.out, p.narrow = arrow.PrimitiveTypes.Int64, p.out
			p.casts[0] = toInt64(fromA, u)
		}
	default:
		return nil, errNoKernel
	}
	return p, nil
}

// subtractTypes: numbers, instant minus instant, time minus time, anything temporal minus a duration.
func subtractTypes(in []arrow.DataType) (*plan, error) {
	a, b := bareTypes(in)
	u := finestUnit(a, b)
	switch {
	case isNumeric(a) && isNumeric(b):
		t := commonNumeric(a, b)
		return samePlan(in, t, t)
	case isInstant(a) && isInstant(b):
		// a date is an instant without a zone
		if err := checkZones("subtract", timestampOf(u, zoneOf(a)), timestampOf(u, zoneOf(b))); err != nil {
			return nil, err
		}
		return samePlan(in, timestampOf(u, ""), durationOf(u))
	case isTime(a) && isTime(b):
		p := &plan{in: msl.I64, out: durationOf(u)}
		for i, t := range in {
			p.casts[i] = steps(t, timeOf(u))
			if u <= arrow.Millisecond {
				p.casts[i] = toInt64(t, u)
			}
		}
		return p, nil
	}
	return shiftPlan(in[0], a, in[1], b)
}

// multiplyTypes: numbers, and a duration times an integer in either order.
func multiplyTypes(in []arrow.DataType) (*plan, error) {
	a, b := bareTypes(in)
	switch {
	case isNumeric(a) && isNumeric(b):
		t := commonNumeric(a, b)
		return samePlan(in, t, t)
	case a.ID() == arrow.DURATION && arrow.IsInteger(b.ID()):
		return scalePlan(in, 0, a), nil
	case b.ID() == arrow.DURATION && arrow.IsInteger(a.ID()):
		return scalePlan(in, 1, b), nil
	}
	return nil, errNoKernel
}

// divideTypes: numbers, a duration by an integer, and a duration by a duration, whose ratio is a float64.
func divideTypes(in []arrow.DataType) (*plan, error) {
	a, b := bareTypes(in)
	switch {
	case isNumeric(a) && isNumeric(b):
		t := commonNumeric(a, b)
		return samePlan(in, t, t)
	case a.ID() == arrow.DURATION && arrow.IsInteger(b.ID()):
		return scalePlan(in, 0, a), nil
	case a.ID() == arrow.DURATION && b.ID() == arrow.DURATION:
		u, f := finestUnit(a, b), arrow.PrimitiveTypes.Float64
		p := &plan{in: msl.F64, out: f, rounds: true}
		for i, t := range in {
			p.casts[i] = steps(t, durationOf(u), arrow.PrimitiveTypes.Int64, f)
		}
		return p, nil
	}
	return nil, errNoKernel
}

// scalePlan computes a duration (input d) with an integer.
func scalePlan(in []arrow.DataType, d int, t arrow.DataType) *plan {
	p := &plan{in: msl.I64, out: t}
	p.casts[d] = steps(in[d], t)
	p.casts[1-d] = steps(in[1-d], arrow.PrimitiveTypes.Int64)
	return p
}
