package computetest

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// bare is the type of a dictionary's values, else the type itself.
func bare(t arrow.DataType) arrow.DataType {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return t
}

func isDictionary(t arrow.DataType) bool { return t.ID() == arrow.DICTIONARY }

func isInteger(t arrow.DataType) bool { return arrow.IsInteger(t.ID()) }

func isFloat(t arrow.DataType) bool { return t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64 }

func isNumber(t arrow.DataType) bool { return isInteger(t) || isFloat(t) }

func isDate(t arrow.DataType) bool { return t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 }

func isTime(t arrow.DataType) bool { return t.ID() == arrow.TIME32 || t.ID() == arrow.TIME64 }

func isInstant(t arrow.DataType) bool { return isDate(t) || t.ID() == arrow.TIMESTAMP }

func isDuration(t arrow.DataType) bool { return t.ID() == arrow.DURATION }

func isTemporal(t arrow.DataType) bool { return isInstant(t) || isTime(t) || isDuration(t) }

func isSigned(t arrow.DataType) bool { return arrow.IsSignedInteger(t.ID()) || isTemporal(t) }

func isUnsigned(t arrow.DataType) bool { return arrow.IsUnsignedInteger(t.ID()) }

// bitsOf is the width of an integer or temporal type.
func bitsOf(t arrow.DataType) int { return t.(arrow.FixedWidthDataType).BitWidth() }

// Signature is the types of a call's arguments.
type Signature []arrow.DataType

func (s Signature) String() string {
	text := s[0].String()
	for _, t := range s[1:] {
		if len(s) > 2 || !arrow.TypeEqual(s[0], t) || zoneOf(s[0]) != zoneOf(t) {
			text += "," + t.String()
		}
	}
	return text
}

func duration(u arrow.TimeUnit) arrow.DataType { return &arrow.DurationType{Unit: u} }

func timestamp(u arrow.TimeUnit, zone string) arrow.DataType {
	return &arrow.TimestampType{Unit: u, TimeZone: zone}
}

var (
	boolType = arrow.FixedWidthTypes.Boolean
	i8       = arrow.PrimitiveTypes.Int8
	i32      = arrow.PrimitiveTypes.Int32
	i64      = arrow.PrimitiveTypes.Int64
	u8       = arrow.PrimitiveTypes.Uint8
	u64      = arrow.PrimitiveTypes.Uint64
	f32      = arrow.PrimitiveTypes.Float32
	f64      = arrow.PrimitiveTypes.Float64
	date32   = arrow.FixedWidthTypes.Date32
	date64   = arrow.FixedWidthTypes.Date64
	time32s  = arrow.FixedWidthTypes.Time32s
	time32ms = arrow.FixedWidthTypes.Time32ms
	time64us = arrow.FixedWidthTypes.Time64us
	time64ns = arrow.FixedWidthTypes.Time64ns
	durS     = duration(arrow.Second)
	durMS    = duration(arrow.Millisecond)
	durUS    = duration(arrow.Microsecond)
	durNS    = duration(arrow.Nanosecond)
	tsS      = timestamp(arrow.Second, "")
	tsMS     = timestamp(arrow.Millisecond, "")
	tsUS     = timestamp(arrow.Microsecond, "")
	tsNS     = timestamp(arrow.Nanosecond, "")
	tsUTC    = timestamp(arrow.Microsecond, "UTC")
	tsNY     = timestamp(arrow.Second, "America/New_York")
	dictI64  = &arrow.DictionaryType{IndexType: i8, ValueType: i64}
	dictStr  = &arrow.DictionaryType{IndexType: i32, ValueType: arrow.BinaryTypes.String}
	nullType = arrow.Null

	integers = []arrow.DataType{
		i8, arrow.PrimitiveTypes.Int16, i32, i64,
		u8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, u64,
	}
	numbers   = slices.Concat(integers, []arrow.DataType{f32, f64})
	temporals = []arrow.DataType{date32, date64, time32s, time32ms, time64us, time64ns, tsS, tsUTC, tsNS, durS, durNS}
	plain     = slices.Concat([]arrow.DataType{boolType}, numbers, temporals)
)

// ones are signatures of one argument of each type.
func ones(types ...arrow.DataType) []Signature {
	out := make([]Signature, len(types))
	for i, t := range types {
		out[i] = Signature{t}
	}
	return out
}

// twins are signatures of two arguments of the same type.
func twins(types ...arrow.DataType) []Signature {
	out := make([]Signature, len(types))
	for i, t := range types {
		out[i] = Signature{t, t}
	}
	return out
}

// behind are signatures with one more argument before the others.
func behind(first arrow.DataType, list ...Signature) []Signature {
	out := make([]Signature, len(list))
	for i, s := range list {
		out[i] = append(Signature{first}, s...)
	}
	return out
}

// masked are signatures of a filter.
func masked(types ...arrow.DataType) []Signature {
	out := make([]Signature, len(types))
	for i, t := range types {
		out[i] = Signature{t, boolType}
	}
	return out
}

// indexed are signatures of a take: each type with one type of indices, int64 with all.
func indexed(types ...arrow.DataType) []Signature {
	var out []Signature
	for i, t := range types {
		out = append(out, Signature{t, integers[i%len(integers)]})
	}
	for _, t := range integers {
		out = append(out, Signature{i64, t})
	}
	return append(out, Signature{i64, f64}) // which is an error
}

var (
	// mixed are pairs of numbers that meet in a third type or one of the two.
	mixed = []Signature{{i8, i32}, {u8, i8}, {u64, i64}, {u8, u64}, {f32, i64}, {i32, f32}, {f32, f64}, {dictI64, dictI64}, {dictI64, f64}}

	addTypes = slices.Concat(twins(numbers...), mixed, []Signature{
		{tsS, durS}, {durS, tsUS}, {tsUTC, durS}, {tsNY, durNS}, {durMS, durMS}, {durMS, durS}, {date32, durS}, {date64, durNS},
		{time32s, durS}, {durMS, time64us}, {time32ms, durNS}, {boolType, boolType}, {tsS, i64},
	})
	subtractTypes = slices.Concat(twins(numbers...), mixed, []Signature{
		{tsS, tsS}, {tsS, tsNS}, {tsUTC, tsNY}, {tsUTC, tsUS}, {tsMS, durS}, {tsUTC, durNS}, {durUS, durUS}, {durMS, durS},
		{date32, date32}, {date64, date64}, {date64, tsUTC}, {date32, durS}, {time32s, time32s}, {time32ms, time64ns},
		{time64us, durNS}, {boolType, boolType},
	})
	multiplyTypes = slices.Concat(twins(numbers...), mixed, []Signature{
		{durS, i64}, {i32, durMS}, {durS, durS},
	})
	divideTypes = slices.Concat(twins(numbers...), mixed, []Signature{
		{durS, i64}, {durMS, i32}, {durNS, durNS}, {durMS, durS}, {boolType, boolType},
	})
	compareTypes = slices.Concat(twins(plain...), mixed, []Signature{
		{tsS, tsNS}, {tsUTC, tsNY}, {tsUTC, tsUS}, {date32, date64}, {date32, tsS}, {time32s, time64ns}, {durS, durNS}, {dictStr, dictStr},
	}, twins(stringTypes...), mixedStrings)
	sizes      = slices.Concat(numbers, []arrow.DataType{durS, boolType})
	reals1     = ones(f32, f64, i32)
	reals2     = slices.Concat(twins(f32, f64, i8), []Signature{{f32, i64}})
	powerTypes = slices.Concat(twins(numbers...), []Signature{{u8, i8}})

	chooseTypes = slices.Concat(behind(boolType, twins(boolType, i8, u8, i32, i64, f32, f64, date32, tsUTC, durS, dictI64)...), []Signature{
		{boolType, i8, i32}, {boolType, f32, i64}, {boolType, tsS, tsNS}, {boolType, nullType, f64}, {boolType, i32, boolType}, {i32, i32, i32},
		{boolType, dictStr, dictStr},
	})
	fillTypes     = slices.Concat(twins(boolType, i8, i32, u64, f32, f64, tsUTC, dictI64, dictStr), []Signature{{i32, i8}})
	coalesceTypes = slices.Concat(fillTypes, []Signature{
		{i64, i64, i64}, {durS, durNS, durMS}, {boolType, i32},
	})
	bools1    = ones(boolType, i32)
	bools2    = slices.Concat(twins(boolType, i32))
	anyTypes  = ones(slices.Concat(plain, []arrow.DataType{dictI64, dictStr, nullType})...)
	sumTypes  = ones(slices.Concat([]arrow.DataType{boolType}, numbers, []arrow.DataType{tsS, date32, nullType})...)
	extremes  = ones(slices.Concat(plain, []arrow.DataType{nullType})...)
	takeTypes = indexed(slices.Concat(plain, []arrow.DataType{dictI64, dictStr, nullType})...)
	moveTypes = masked(slices.Concat(plain, []arrow.DataType{dictI64, dictStr, nullType})...)
)
