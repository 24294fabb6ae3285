package computetest

import (
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
)

var ticks = map[arrow.TimeUnit]int64{arrow.Second: 1, arrow.Millisecond: 1e3, arrow.Microsecond: 1e6, arrow.Nanosecond: 1e9}

// unitOf is the unit of a temporal type; days count as seconds.
func unitOf(t arrow.DataType) arrow.TimeUnit {
	switch d := t.(type) {
	case *arrow.Date32Type:
		return arrow.Second
	case *arrow.Date64Type:
		return arrow.Millisecond
	case arrow.TemporalWithUnit:
		return d.TimeUnit()
	}
	panic(fmt.Sprintf("computetest: %s has no unit", t))
}

// ticksOf is how many steps of a temporal type make 86,400 seconds.
func ticksOf(t arrow.DataType) int64 {
	if t.ID() == arrow.DATE32 {
		return 1
	}
	return 86_400 * ticks[unitOf(t)]
}

// scaled changes the unit of a value to a finer one, which must hold it.
func scaled(v, from, to int64, t arrow.DataType) (any, error) {
	return fitted(new(big.Int).Mul(big.NewInt(v), big.NewInt(to/from)), t, true)
}

func zoneOf(t arrow.DataType) string {
	if ts, ok := t.(*arrow.TimestampType); ok {
		return ts.TimeZone
	}
	return ""
}

func finest(a, b arrow.DataType) arrow.TimeUnit { return max(unitOf(a), unitOf(b)) }

// timeOf is the time of day in a unit.
func timeOf(u arrow.TimeUnit) arrow.DataType {
	return map[arrow.TimeUnit]arrow.DataType{
		arrow.Second: time32s, arrow.Millisecond: time32ms, arrow.Microsecond: time64us, arrow.Nanosecond: time64ns,
	}[u]
}

// inUnit is the temporal type of the kind of t in a unit; dates become timestamps.
func inUnit(t arrow.DataType, u arrow.TimeUnit) arrow.DataType {
	switch {
	case isTime(t):
		return timeOf(u)
	case isDuration(t):
		return duration(u)
	}
	return timestamp(u, zoneOf(t))
}

// zonesMeet says that both timestamps have a zone or neither has.
func zonesMeet(a, b arrow.DataType) bool { return (zoneOf(a) == "") == (zoneOf(b) == "") }

// toCompare is the type rule of comparisons.
func toCompare(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
	a, b := bare(in[0]), bare(in[1])
	both := func(t arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
		return []arrow.DataType{t, t}, boolType, nil
	}
	switch {
	case isNumber(a) && isNumber(b):
		return both(common(a, b))
	case isString(a) && isString(b):
		return in, boolType, nil
	case isDate(a) && isDate(b):
		if a.ID() != b.ID() {
			return both(date64)
		}
		return both(a)
	case isInstant(a) && isInstant(b):
		if a.ID() == b.ID() && !zonesMeet(a, b) {
			return nil, nil, errInvalid
		}
		return both(timestamp(finest(a, b), ""))
	case isTime(a) && isTime(b), isDuration(a) && isDuration(b):
		return both(inUnit(a, finest(a, b)))
	case arrow.TypeEqual(a, b):
		return both(a)
	}
	return nil, nil, errNoKernel
}

// temporalRule is the type rule of arithmetic with a temporal argument.
func temporalRule(op string, a, b arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
	switch {
	case op == "add" && isDuration(a) && isTemporal(b) && !isDuration(b):
		out := inUnit(b, finest(a, b))
		return []arrow.DataType{duration(finest(a, b)), out}, out, nil
	case (op == "add" || op == "sub") && isTemporal(a) && isDuration(b):
		out := inUnit(a, finest(a, b))
		return []arrow.DataType{out, duration(finest(a, b))}, out, nil
	case op == "sub" && isInstant(a) && isInstant(b):
		if !zonesMeet(a, b) {
			return nil, nil, errInvalid
		}
		t := timestamp(finest(a, b), "")
		return []arrow.DataType{t, t}, duration(finest(a, b)), nil
	case op == "sub" && isTime(a) && isTime(b):
		t := timeOf(finest(a, b))
		return []arrow.DataType{t, t}, duration(finest(a, b)), nil
	case op == "div" && isDuration(a) && isDuration(b):
		t := duration(finest(a, b))
		return []arrow.DataType{t, t}, f64, nil
	case (op == "mul" || op == "div") && isDuration(a) && isInteger(b):
		return []arrow.DataType{a, i64}, a, nil
	case op == "mul" && isInteger(a) && isDuration(b):
		return []arrow.DataType{i64, b}, b, nil
	}
	return nil, nil, errNoKernel
}
