package compute_test

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleUnique() {
	show(compute.Unique(ctx, datum(i64, "[3, null, 3, 1]")))
	// Output: [3 (null) 1]
}

func ExampleUniqueArray() {
	showArray(compute.UniqueArray(ctx, column(arrow.BinaryTypes.String, `["ORD", "ATL", "ORD"]`)))
	// Output: ["ORD" "ATL"]
}

func ExampleValueCounts() {
	show(compute.ValueCounts(ctx, datum(i64, "[3, 1, 3]")))
	// Output: {[3 1] [2 1]}
}

func ExampleValueCountsArray() {
	showArray(compute.ValueCountsArray(ctx, column(arrow.BinaryTypes.String, `["ORD", "ATL", "ORD"]`)))
	// Output: {["ORD" "ATL"] [2 1]}
}

func ExampleDictionaryEncode() {
	show(compute.DictionaryEncode(ctx, compute.DictionaryEncodeOptions{}, datum(i64, "[3, null, 3, 1]")))
	// Output: { dictionary: [3 1]
	//   indices: [0 (null) 0 1] }
}

func ExampleDictionaryEncodeArray() {
	showArray(compute.DictionaryEncodeArray(ctx, compute.DictionaryEncodeOptions{NullEncoding: compute.NullEncodingEncode}, column(i64, "[3, null, 3]")))
	// Output: { dictionary: [3 (null)]
	//   indices: [0 1 0] }
}
