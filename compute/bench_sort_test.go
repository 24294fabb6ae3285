package compute_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute"
)

// arrow-go's comparison sort takes seconds for 10 million rows.
var sortedLengths = []int{1000, 1_000_000}

func BenchmarkSortIndices(b *testing.B) {
	for _, rows := range sortedLengths {
		ints, floats, words := manyInts(rows, 1<<62, true), testFloats(rows, 1), manyWords(rows)
		defer ints.Release()
		defer floats.Release()
		defer words.Release()
		against(b, "int64", rows, "sort_indices", nil, compute.NewDatumWithoutOwning(ints))
		against(b, "float64", rows, "sort_indices", nil, compute.NewDatumWithoutOwning(floats))
		against(b, "utf8", rows, "sort_indices", nil, compute.NewDatumWithoutOwning(words))
	}
}

func BenchmarkUnique(b *testing.B) {
	for _, rows := range sortedLengths {
		few, many := manyInts(rows, 1000, false), manyInts(rows, 1<<62, true)
		for name, col := range map[string]*array.Int64{"few": few, "many": many} {
			defer col.Release()
			against(b, name, rows, "unique", nil, compute.NewDatumWithoutOwning(col))
			against(b, name+"-encode", rows, "dictionary_encode", nil, compute.NewDatumWithoutOwning(col))
		}
		words := manyWords(rows)
		defer words.Release()
		against(b, "utf8", rows, "unique", nil, compute.NewDatumWithoutOwning(words))
	}
}
