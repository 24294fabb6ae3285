// Package msl holds Broadhead's GPU kernels as Metal Shading Language text, generated lazily: a kernel is named by a
// comparable Key, and its text is built only when a pipeline cache misses.
//
// Metal compiles the text as it is; other drivers compile the same text behind a prelude of their own.
package msl

// Key names one kernel. It is comparable and made of constants, so that a cache hit costs one map look-up: no text,
// no allocation.
type Key struct {
	Skeleton Skeleton
	Op       string // the op's name, a constant of the op tables
	In       Type   // element type of the inputs
	Out      Type   // element type of the result
	Flags    Flags
	Caps     Caps // the device's, as far as the text depends on them
}

// Skeleton is the shape of a kernel.
type Skeleton uint8

// The skeletons. abi.go says what each binds.
const (
	NoSkeleton       Skeleton = iota
	Map                       // element-wise, one to three inputs; a comparison is a map into Bool
	Reduce                    // rows to one partial state a threadgroup
	ReduceExact               // float rows to one partial superaccumulator a threadgroup
	Finish                    // partial states to the result of an aggregate
	CompactCount              // filter: mask to selection words and selected rows a tile
	CompactScan               // filter: exclusive scan of the tiles' counts
	CompactScatter            // filter: selected rows to their places
	Gather                    // out[i] = in[index[i]]
	Fill                      // 32-bit words to one value
	CumulateLookback          // cumulative sum in one pass, for devices with ForwardProgress
	CumulateReduce            // cumulative sum: rows to one state a tile
	CumulateScan              // cumulative sum: exclusive scan of the states
	CumulateApply             // cumulative sum: each row's sum from its tile's state
	Aggregate                 // few rows to the result of an aggregate, by one threadgroup
	Member                    // rows to bits: is the value in a small set?
)

// Type is the element type a kernel works on: the storage of an Arrow type.
type Type uint8

// The element types. Bool is one bit a row.
const (
	NoType Type = iota
	Bool
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F32
	F64
)

// Flags choose variants of a skeleton.
type Flags uint8

const (
	// ANulls: the first input has a validity bitmap.
	ANulls Flags = 1 << iota
	// BNulls: the second input has a validity bitmap.
	BNulls
	// Pending: the number of rows is read from device memory.
	Pending
	// EmitNull: rows selected by a null become nulls (filter); the result can have nulls (Member).
	EmitNull
	// CNulls: the third input has a validity bitmap.
	CNulls
)

// Caps are abilities of a device on which kernel text depends.
type Caps uint8

const (
	// Float64: arithmetic on double; without it binary64 is computed on 64-bit integers, bit for bit the same.
	Float64 Caps = 1 << iota
	// Atomic64: 64-bit atomics.
	Atomic64
	// ForwardProgress: threadgroups make progress independently, so that look-back scans are legal.
	ForwardProgress
)
