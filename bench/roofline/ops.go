// Package roofline measures functions over columns that stay on a device, and what they cost over columns that do not.
package roofline

import (
	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

// operation is a call that is measured, with what it should reach.
type operation struct {
	name     string
	function string
	opts     compute.FunctionOptions
	args     func(in *inputs) []any
	bytes    float64 // read and written, for each row of the columns
	target   float64 // milliseconds at referenceRows rows on an H200
	peer     float64 // what the best of the peers took there, 0 if none was measured
	library  string  // that peer
}

// The targets and the times of peers are those of the issue that asked for these kernels: "CUDA: the driver, device
// columns, and kernels at the H200's bandwidth". They were measured, or derived from bytes, for an H200.
const (
	referenceRows   = 100_000_000
	referenceSource = `issue "CUDA: the driver, device columns, and kernels at the H200's bandwidth", point 3, for 100,000,000 rows on an H200`
	// oddLimit is how much longer slices at odd offsets may take.
	oddLimit = 1.15
)

var operations = []operation{
	{"sum int64", "sum", nil, func(in *inputs) []any { return []any{in.a} }, 8, 0.188, 0.199, "CuPy"},
	{"min_max int64", "min_max", nil, func(in *inputs) []any { return []any{in.a} }, 8, 0.188, 0.199, "CuPy"},
	{"sum float64, exact", "sum", nil, func(in *inputs) []any { return []any{in.f} }, 8, 0.188 / 0.8, 0, ""},
	{"int64 > 0 to bits", "greater", nil, func(in *inputs) []any { return []any{in.a, int64(0)} }, 8 + 1./8, 0.195, 0.224, "best peer"},
	{"int64 + scalar", "add_unchecked", nil, func(in *inputs) []any { return []any{in.a, int64(3)} }, 16, 0.42, 0, ""},
	{"int64 + scalar, checked", "add", nil, func(in *inputs) []any { return []any{in.a, int64(3)} }, 16, 0.42, 0, ""},
	{"int64 + int64", "add_unchecked", nil, func(in *inputs) []any { return []any{in.a, in.b} }, 24, 0.62, 0, ""},
	{"float64 * scalar", "multiply_unchecked", nil, func(in *inputs) []any { return []any{in.f, 1.5} }, 16, 0.42, 0.415, "best peer"},
	{"cast int64 to float32", "cast", compute.UnsafeCastOptions(arrow.PrimitiveTypes.Float32),
		func(in *inputs) []any { return []any{in.a} }, 12, 0.33, 0.356, "best peer"},
	{"filter int64, half", "filter", nil, func(in *inputs) []any { return []any{in.a, in.mask} }, 12 + 1./8, 0.42, 0.799, "best peer"},
	{"cumulative_sum int64", "cumulative_sum", nil, func(in *inputs) []any { return []any{in.a} }, 16, 0.48, 0.608, "best peer"},
	{"int64 in a set of 100", "is_in", setOf(100), func(in *inputs) []any { return []any{in.a} }, 8 + 1./8, 0, 0, ""},
	{"take, half at random", "take", nil, func(in *inputs) []any { return []any{in.a, in.at} }, 12, 1.1, 1.512, "best peer"},
}

// setOf are options with a set of n numbers.
func setOf(n int) compute.FunctionOptions {
	set := column(arrowmem.NewGoAllocator(), arrow.PrimitiveTypes.Int64, n, 8*n, func(i int) uint64 { return uint64(int64(mix(i)) >> 31) })
	defer set.Release()
	return &compute.SetOptions{ValueSet: compute.NewDatum(set)}
}

// datums are arguments as eager calls take them. Release them.
func datums(args []any) []compute.Datum {
	out := make([]compute.Datum, len(args))
	for i, a := range args {
		out[i] = compute.NewDatum(a)
	}
	return out
}

func release(list []compute.Datum) {
	for _, d := range list {
		d.Release()
	}
}
