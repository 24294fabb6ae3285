package compute_test

import (
	"testing"

	"github.com/broadhead-go/broadhead/compute/computetest"
)

var (
	mapFunctions = []string{
		"add", "add_unchecked", "sub", "sub_unchecked", "multiply", "multiply_unchecked", "divide", "divide_unchecked",
		"equal", "not_equal", "greater", "greater_equal", "less", "less_equal",
		"and", "or", "xor", "and_not", "and_kleene", "or_kleene", "and_not_kleene", "not",
		"is_null", "is_not_null", "is_nan", "is_nan_propagate", "is_inf", "is_finite",
		"bit_wise_and", "bit_wise_or", "bit_wise_not", "shift_left", "shift_left_unchecked", "shift_right", "shift_right_unchecked",
		"abs", "abs_unchecked", "negate", "negate_unchecked", "sign", "sqrt", "sqrt_unchecked", "power", "power_unchecked",
		"floor", "ceil", "trunc", "round", "round_to_multiple", "if_else", "coalesce", "fill_null",
	}
	aggregateFunctions = []string{"count", "sum", "mean", "min", "max", "min_max", "any", "all"}
)

// fuzz compares functions with the oracle on the CPU.
func fuzz(f *testing.F, functions ...string) {
	for i := range 64 {
		seed := make([]byte, 8*i)
		for k := range seed {
			seed[k] = byte(i*k*k*31 + 17*i + k)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) { computetest.Fuzz(t, onCPU(), functions, data) })
}

func FuzzMap(f *testing.F) { fuzz(f, mapFunctions...) }

func FuzzAggregate(f *testing.F) { fuzz(f, aggregateFunctions...) }

func FuzzCast(f *testing.F)   { fuzz(f, "cast") }
func FuzzLookup(f *testing.F) { fuzz(f, "is_in", "index_in") }

func FuzzSort(f *testing.F) { fuzz(f, "sort_indices", "sort") }

func FuzzDistinct(f *testing.F) { fuzz(f, "unique", "value_counts") }

func FuzzFilter(f *testing.F) { fuzz(f, "filter", "array_filter") }

func FuzzTake(f *testing.F) { fuzz(f, "take", "array_take") }
