package compute

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// chooseOps take each row from one of their arguments. Values are moved as unsigned integers of their width.
var chooseOps = []op{
	{
		name: "if_else", arity: 3, types: ifElseTypes, nulls: computed, cross: crossMap,
		doc: FunctionDoc{Summary: "Choose values by a condition", ArgNames: []string{"cond", "left", "right"}},
		gpu: msl.Expr{Value: "a ? b : c", Valid: "va && (a ? vb : vc)", Fixed: [3]msl.Type{msl.Bool}},
		cpu: widths4(ifElse[uint8], ifElse[uint16], ifElse[uint32], ifElse[uint64]).with(msl.Bool, ifElseBits),
		any: chooseAny,
	},
	{
		name: "coalesce", arity: 2, more: true, types: coalesceTypes, nulls: every, cross: crossMap,
		doc: FunctionDoc{Summary: "Take the first value that is not null", ArgNames: []string{"values"}},
		gpu: msl.Expr{Value: "va ? a : b", Valid: "va || vb", Fills: true},
		cpu: widths4(coalesce[uint8], coalesce[uint16], coalesce[uint32], coalesce[uint64]).with(msl.Bool, coalesceBits),
		any: chooseAny,
	},
	{
		name: "fill_null", arity: 2, types: fillTypes, nulls: every, cross: crossMap,
		doc: FunctionDoc{Summary: "Replace nulls by a value or by those of a column", ArgNames: []string{"values", "fill_value"}},
		gpu: msl.Expr{Value: "va ? a : b", Valid: "va || vb", Fills: true},
		cpu: widths4(coalesce[uint8], coalesce[uint16], coalesce[uint32], coalesce[uint64]).with(msl.Bool, coalesceBits),
		any: chooseAny,
	},
}

// widths4 are the kernels of unsigned integers.
func widths4(u8, u16, u32, u64 blockKernel) blockKernels {
	return blockKernels{msl.U8: u8, msl.U16: u16, msl.U32: u32, msl.U64: u64}
}

func (k blockKernels) with(t msl.Type, f blockKernel) blockKernels {
	k[t] = f
	return k
}

func ifElse[T uint8 | uint16 | uint32 | uint64](b *block) cpu.Status {
	cpu.Blend(view[T](b.out, len(b.out)/int(unsafe.Sizeof(T(0))))[:b.n], view[T](b.in[1].values, b.n), view[T](b.in[2].values, b.n), b.in[0].words)
	ifElseValid(b)
	return 0
}

func ifElseBits(b *block) cpu.Status {
	blendWords(b.ow[:(b.n+63)/64], b.in[1].words, b.in[2].words, b.in[0].words)
	ifElseValid(b)
	return 0
}

// ifElseValid: the condition must be valid, and the value that it chooses.
func ifElseValid(b *block) {
	if !b.nulls {
		return
	}
	valid := b.ov[:(b.n+63)/64]
	blendWords(valid, b.in[1].valid, b.in[2].valid, b.in[0].words)
	for i, w := range b.in[0].valid[:len(valid)] {
		valid[i] &= w
	}
}

func coalesce[T uint8 | uint16 | uint32 | uint64](b *block) cpu.Status {
	cpu.Blend(view[T](b.out, len(b.out)/int(unsafe.Sizeof(T(0))))[:b.n], view[T](b.in[0].values, b.n), view[T](b.in[1].values, b.n), b.in[0].valid)
	return 0
}

func coalesceBits(b *block) cpu.Status {
	blendWords(b.ow[:(b.n+63)/64], b.in[0].words, b.in[1].words, b.in[0].valid)
	return 0
}

// blendWords takes bits from a where choice is set, else from b.
func blendWords(out, a, b, choice []uint64) {
	for i := range out {
		out[i] = b[i] ^ (a[i]^b[i])&choice[i]
	}
}

// IfElse takes each row from left where cond is true and from right where it is false. A scalar serves every row.
//
// cond is Bool. left and right are of one type, any but unions and run-end encoded, or meet in one: numbers in their
// common type, temporal values in the finest unit, strings and binaries in the larger, dictionaries beside other types
// by value, nulls in any. The result is null where cond is, or where the value that it chooses is. Arguments of
// different lengths are arrow.ErrInvalid, types that do not meet arrow.ErrNotImplemented.
//
// The GPU is used from the crossover on for booleans and values of 1, 2, 4 or 8 bytes that need no cast.
func IfElse(ctx context.Context, cond, left, right Datum) (Datum, error) {
	return CallFunction(ctx, "if_else", nil, cond, left, right)
}

// IfElseArray is [IfElse] for three arrays. The caller releases the result.
func IfElseArray(ctx context.Context, cond, left, right arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "if_else", nil, cond, left, right)
}

// Coalesce takes each row from the first argument that is not null there. A scalar serves every row.
//
// Types are as for [IfElse], but that a null-typed argument meets only its like; the result is null where all arguments
// are. Errors and the GPU are as for [IfElse].
func Coalesce(ctx context.Context, values ...Datum) (Datum, error) {
	return CallFunction(ctx, "coalesce", nil, values...)
}

// CoalesceArray is [Coalesce] for arrays. The caller releases the result.
func CoalesceArray(ctx context.Context, values ...arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "coalesce", nil, values...)
}

// FillNull replaces the nulls of values by fill, a scalar or a column of the same length, cast to the type of values;
// where that is null too, the result is. Errors and the GPU are as for [IfElse]; a fill that does not fit the type is
// arrow.ErrInvalid.
func FillNull(ctx context.Context, values, fill Datum) (Datum, error) {
	return CallFunction(ctx, "fill_null", nil, values, fill)
}

// FillNullArray is [FillNull] for two arrays. The caller releases the result.
func FillNullArray(ctx context.Context, values, fill arrow.Array) (arrow.Array, error) {
	return callArrays(ctx, "fill_null", nil, values, fill)
}
