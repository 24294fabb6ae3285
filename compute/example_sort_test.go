package compute_test

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute"
)

var (
	up        = compute.DefaultSortKey()
	down      = compute.SortKey{Order: compute.SortOrderDescending, NullPlacement: compute.SortNullsAtStart}
	byDelay   = []compute.SortKey{{ColumnIndex: 1, Order: compute.SortOrderDescending}}
	twoChunks = func() *arrow.Chunked {
		return arrow.NewChunked(i64, []arrow.Array{column(i64, "[3, 1]"), column(i64, "[2]")})
	}
)

func ExampleSortIndices() {
	show(compute.SortIndices(ctx, datum(i64, "[3, null, 1]"), compute.SortOptions{up}))
	// Output: [2 0 1]
}

func ExampleSortIndicesArray() {
	showArray(compute.SortIndicesArray(ctx, column(arrow.BinaryTypes.String, `["b", null, "a", "c"]`), down))
	// Output: [1 3 0 2]
}

func ExampleSortIndicesChunked() {
	showArray(compute.SortIndicesChunked(ctx, twoChunks(), up))
	// Output: [1 2 0]
}

func ExampleSortIndicesRecordBatch() {
	showArray(compute.SortIndicesRecordBatch(ctx, flights(), byDelay))
	// Output: [0 2 1]
}

func ExampleSortIndicesTable() {
	table := array.NewTableFromRecords(flights().Schema(), []arrow.RecordBatch{flights(), flights()})
	showArray(compute.SortIndicesTable(ctx, table, byDelay))
	// Output: [0 3 2 5 1 4]
}

func ExampleSort() {
	show(compute.Sort(ctx, datum(i64, "[3, null, 1]"), compute.SortOptions{up}))
	// Output: [1 3 (null)]
}

func ExampleSortArray() {
	showArray(compute.SortArray(ctx, column(i64, "[3, null, 1]"), down))
	// Output: [(null) 3 1]
}

func ExampleSortChunked() {
	out, err := compute.SortChunked(ctx, twoChunks(), up)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Len(), "rows, the first is", out.Chunk(0).ValueStr(0))
	// Output: 3 rows, the first is 1
}

func ExampleSortRecordBatch() {
	out, err := compute.SortRecordBatch(ctx, flights(), byDelay)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Column(0))
	// Output: ["ATL" "SFO" "ORD"]
}

func ExampleSortTable() {
	table := array.NewTableFromRecords(flights().Schema(), []arrow.RecordBatch{flights()})
	out, err := compute.SortTable(ctx, table, byDelay)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Column(0).Data().Chunk(0))
	// Output: ["ATL" "SFO" "ORD"]
}

func ExampleDefaultArraySortOptions() {
	show(compute.CallFunction(ctx, "array_sort_indices", compute.DefaultArraySortOptions(), datum(i64, "[3, 1]")))
	// Output: [1 0]
}
