package msl

// typeInfo is what the text needs to know about an element type.
type typeInfo struct { // fields with capitals are for the skeletons
	Name     string // in kernel names
	Storage  string // scalar type in memory
	Value    string // type in expressions
	unsigned string // unsigned type of the same width
	wide     string // unsigned type, at least 32 bits: sums and products in it wrap without promotion to int
	product  string // type that holds every product, "" where none does
	min      string // smallest value of a signed type
	library  string // library of the functions that expressions use
	soft     string // prefix of the arithmetic on bit patterns
	bits     int
	Signed   bool
	Float    bool
}

// Packed says whether values are bits.
func (t typeInfo) Packed() bool { return t.bits == 1 }

var types = [...]typeInfo{
	Bool: {Name: "bool", Storage: "uint", Value: "bool", library: "bool", bits: 1},
	I8:   {Name: "i8", Storage: "char", Value: "char", unsigned: "uchar", wide: "uint", product: "int", min: "(-128)", library: "signed", bits: 8, Signed: true},
	I16:  {Name: "i16", Storage: "short", Value: "short", unsigned: "ushort", wide: "uint", product: "int", min: "(-32768)", library: "signed", bits: 16, Signed: true},
	I32:  {Name: "i32", Storage: "int", Value: "int", unsigned: "uint", wide: "uint", product: "long", min: "(-2147483647 - 1)", library: "signed", bits: 32, Signed: true},
	I64:  {Name: "i64", Storage: "long", Value: "long", unsigned: "ulong", wide: "ulong", min: "(-9223372036854775807l - 1l)", library: "signed", bits: 64, Signed: true},
	U8:   {Name: "u8", Storage: "uchar", Value: "uchar", unsigned: "uchar", wide: "uint", product: "uint", library: "unsigned", bits: 8},
	U16:  {Name: "u16", Storage: "ushort", Value: "ushort", unsigned: "ushort", wide: "uint", product: "uint", library: "unsigned", bits: 16},
	U32:  {Name: "u32", Storage: "uint", Value: "uint", unsigned: "uint", wide: "uint", product: "ulong", library: "unsigned", bits: 32},
	U64:  {Name: "u64", Storage: "ulong", Value: "ulong", unsigned: "ulong", wide: "ulong", library: "unsigned", bits: 64},
	F32:  {Name: "f32", Storage: "uint", Value: "f32", unsigned: "uint", library: "float", soft: "sf32", bits: 32, Signed: true, Float: true},
	F64:  {Name: "f64", Storage: "ulong", Value: "f64", unsigned: "ulong", library: "float", soft: "sf64", bits: 64, Signed: true, Float: true},
}

// known says whether t is an element type.
func (t Type) known() bool { return t > NoType && int(t) < len(types) }

func (t Type) integer() bool { return t >= I8 && t <= U64 }

func (t Type) float() bool { return t == F32 || t == F64 }

// String returns the name of t as kernel names have it: "i64", "bool".
func (t Type) String() string {
	if !t.known() {
		return "none"
	}
	return types[t].Name
}

var skeletonNames = [...]string{
	NoSkeleton:     "no skeleton",
	Map:            "map",
	Reduce:         "reduce",
	ReduceExact:    "exact",
	Finish:         "finish",
	CompactCount:   "compact_count",
	CompactScan:    "compact_scan",
	CompactScatter: "compact_scatter",
	Gather:         "gather",
	Fill:           "fill",

	CumulateLookback: "cumulate_lookback",
	CumulateReduce:   "cumulate_reduce",
	CumulateScan:     "cumulate_scan",
	CumulateApply:    "cumulate_apply",

	Aggregate: "aggregate",
	Member:    "member",
}

// String returns the name of s as kernel names have it: "compact_scan".
func (s Skeleton) String() string {
	if int(s) >= len(skeletonNames) {
		return "unknown skeleton"
	}
	return skeletonNames[s]
}
