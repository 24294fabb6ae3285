package msl

import "slices"

// What kernels bind: buffer indexes and parameter structs, shared by the text and by those who dispatch it. All
// parameter structs are little-endian with the layout of the Go structs below (8-byte fields first, no padding).
//
// Rows are numbered from the first row of the argument. An offset counts elements (bits for Bool and for validity
// bitmaps) from the binding's start, which is aligned to 16 bytes at least. Where a Key has Pending, the number of rows
// is min(N, *Len); N is then the worst case that buffers and grids were sized for. Kernels write all words of their
// outputs up to that worst case rounded up to a word, padding bits as zeros.

// Threads is the threadgroup size of every kernel.
const Threads = 256

// MapRows is how many rows one threadgroup of Map and Gather handles. A simdgroup takes 32 consecutive rows at a time,
// so that a bitmap word is one ballot.
const MapRows = 2048

// Tile is how many rows one threadgroup of CompactCount and CompactScatter handles: one 32-bit word a thread.
const Tile = 32 * Threads

// MaxGroups bounds the threadgroups, hence partial states, of one reduction.
const MaxGroups = 1024

// Buffers of Map. B and BValid exist for arity 2; AValid and BValid by the key's flags; OutValid where the result can
// have nulls; Err where the op can fail (ErrOverflow and friends or-ed into one atomic 32-bit word, only by valid rows).
// C and CValid are those of a third input, whose parameters are Map3Params.
const (
	MapA = iota
	MapAValid
	MapB
	MapBValid
	MapOut
	MapOutValid
	MapErr
	MapLen
	MapArgs
	MapC
	MapCValid
	MapBindings
)

// MapParams are the parameters of Map over one or two inputs. A stride of 0 makes the argument a scalar: row 0 serves every row.
type MapParams struct {
	N                uint64
	AOff, BOff       uint64
	AValid, BValid   uint64
	AStride, BStride uint32
}

// Map3Params are the parameters of Map over three inputs.
type Map3Params struct {
	N                         uint64
	AOff, BOff, COff          uint64
	AValid, BValid, CValid    uint64
	AStride, BStride, CStride uint32
	Pad                       uint32
}

// Bits of the error word.
const (
	ErrOverflow uint32 = 1 << iota
	ErrDivideByZero
	ErrIndex
	ErrNegativeRoot
	ErrShift
)

// Buffers of Reduce and ReduceExact. Valid exists with ANulls. Partials is an array of states of StateWords(key) ulongs;
// group g of the dispatch writes state First+g. ReduceExact on devices with Float64 adds to the one state First, which is
// zeros before.
const (
	ReduceIn = iota
	ReduceValid
	ReducePartials
	ReduceLen
	ReduceArgs
	ReduceBindings
)

// ReduceParams are the parameters of Reduce and ReduceExact. Groups is the number of threadgroups dispatched: group g
// takes the tiles g, g+Groups, ...
type ReduceParams struct {
	N      uint64
	Off    uint64
	Valid  uint64
	Groups uint32
	First  uint32
}

// States, in ulongs. Every state begins with the rows seen and the valid rows among them. Then
//
//	count               nothing
//	sum (integers)      the sum, wrapping
//	mean (integers)     the sum as 128-bit integer: high word, low word
//	min_max             smallest and largest order-preserving key, rows that are not NaN
//	bool                true rows
//	exact (floats)      NaN rows, +Inf rows, -Inf rows, then ExactDigits signed digits of 16 bits each, the lowest first
const (
	StateRows = iota
	StateValid
	StateFirst
)

// The parts of an exact state. Digit 0 has the weight 2^-1074.
const (
	ExactNaN = StateFirst + iota
	ExactPosInf
	ExactNegInf
	ExactDigit0
	ExactDigits = 132
)

// Reductions, the Op of Reduce keys.
const (
	OpCount  = "count"
	OpSum    = "sum"
	OpMean   = "mean"
	OpMinMax = "min_max"
	OpBool   = "bool"
)

// StateWords is the size of one state of a reduction key, in ulongs.
func StateWords(k Key) int {
	switch {
	case k.Skeleton == ReduceExact:
		return ExactDigit0 + ExactDigits
	case k.Op == OpCount:
		return StateFirst
	case k.Op == OpMean:
		return StateFirst + 2
	case k.Op == OpMinMax:
		return StateFirst + 3
	default:
		return StateFirst + 1
	}
}

// Buffers of Finish, one threadgroup. Op is an aggregate's name: count (valid rows), count_null, count_all, sum, mean,
// min, max, min_max, any, all; In is the element type reduced; Out that of the result. Out gets one element; OutValid
// one word, bit 0 set if the result is valid; Out2 the maximum of min_max.
const (
	FinishPartials = iota
	FinishOut
	FinishOutValid
	FinishOut2
	FinishArgs
	FinishBindings
)

// FinishParams are the parameters of Finish. The result is null if there are nulls and SkipNulls is 0, or fewer valid
// rows than MinCount; any and all follow Kleene logic instead when SkipNulls is 0 (a true row decides any, a false row
// decides all).
type FinishParams struct {
	States    uint32
	MinCount  uint32
	SkipNulls uint32
	Pad       uint32
}

// Buffers of Aggregate, one threadgroup: those of Reduce over few rows, some Tiles at most, and the results of Finish. It
// has no sums of floats. Op is an aggregate's name.
const (
	AggregateIn = iota
	AggregateValid
	AggregateOut
	AggregateOutValid
	AggregateOut2
	AggregateLen
	AggregateArgs
	AggregateBindings
)

// AggregateParams are the parameters of Aggregate.
type AggregateParams struct {
	N         uint64
	Off       uint64
	Valid     uint64
	MinCount  uint32
	SkipNulls uint32
}

// Buffers of CompactCount. MaskValid exists with ANulls; a null in the mask drops the row, with EmitNull it selects it.
// Selection gets ceil(N/32) words, Counts one uint a tile.
const (
	CountMask = iota
	CountMaskValid
	CountSelection
	CountCounts
	CountLen
	CountArgs
	CountBindings
)

// CountParams are the parameters of CompactCount.
type CountParams struct {
	N     uint64
	Mask  uint64 // bit offset of the first row in the mask
	Valid uint64 // and in its validity
}

// Buffers of CompactScan, one threadgroup. Offsets gets one ulong a tile, Total the number of selected rows.
const (
	ScanCounts = iota
	ScanOffsets
	ScanTotal
	ScanArgs
	ScanBindings
)

// ScanParams are the parameters of CompactScan.
type ScanParams struct {
	Tiles uint32
	Pad   uint32
}

// Buffers of CompactScatter. In is Bool, or the unsigned type of the element's width. A Bool output must be zeroed
// (Fill) before: tiles or their bits into shared words.
const (
	ScatterIn = iota
	ScatterSelection
	ScatterOffsets
	ScatterOut
	ScatterArgs
	ScatterBindings
)

// ScatterParams are the parameters of CompactScatter.
type ScatterParams struct {
	N   uint64
	Off uint64
}

// Buffers of Gather. In is the index type, Out the unsigned type of the value's width. Valid (with ANulls) is the
// indexes' validity: values under null indexes are zeros. DictValid (with BNulls) is the values'; OutValid exists with
// either. An index out of range raises ErrIndex.
const (
	GatherIndex = iota
	GatherValid
	GatherDict
	GatherDictValid
	GatherOut
	GatherOutValid
	GatherErr
	GatherLen
	GatherArgs
	GatherBindings
)

// GatherParams are the parameters of Gather.
type GatherParams struct {
	N         uint64
	Off       uint64
	Valid     uint64
	Dict      uint64
	DictValid uint64
	DictLen   uint64
}

// Buffers of Fill.
const (
	FillOut = iota
	FillArgs
	FillBindings
)

// FillParams are the parameters of Fill.
type FillParams struct {
	Words uint64
	Value uint32
	Pad   uint32
}

// Expr is what an element-wise op says in MSL. Value is an expression over a, b and c (values of the input type; f32 and
// f64 have operators and functions like the integers) that converts to the output type. It may call functions that take
// bad, the row's error bits. Valid is an expression over va, vb and vc (and a, b, c of Bool): "" means va && vb && vc,
// "true" a result without nulls.
type Expr struct {
	Value string
	Valid string
	Fails bool    // Value uses bad
	Fills bool    // the result is null only where every input is
	Fixed [3]Type // of inputs that are not of the key's type
}

// Inputs is how many inputs an op has.
func (e Expr) Inputs() int {
	list := tokens(e.Value + " " + e.Valid)
	for i := len(variables) - 1; i > 0; i-- {
		if slices.Contains(list, variables[i]) || slices.Contains(list, "v"+variables[i]) {
			return i + 1
		}
	}
	return 1
}

// variables are the names of the inputs in expressions.
var variables = [...]string{"a", "b", "c"}

// Define names an element-wise op. It is called while packages initialise; a second definition of a name panics.
func Define(op string, e Expr) {
	if _, dup := exprs[op]; dup {
		panic("msl: " + op + " is defined twice")
	}
	exprs[op] = e
}

var exprs = map[string]Expr{}
