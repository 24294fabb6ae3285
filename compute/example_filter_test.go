package compute_test

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleFilter() {
	show(compute.Filter(ctx, datum(i64, "[1, 2, 3]"), datum(boolean, "[true, null, true]"), *compute.DefaultFilterOptions()))
	// Output: [1 3]
}

// A null in the filter may keep its row as null instead of dropping it.
func ExampleFilter_emitNulls() {
	opts := compute.FilterOptions{NullSelection: compute.SelectionEmitNulls}
	show(compute.Filter(ctx, datum(i64, "[1, 2, 3]"), datum(boolean, "[true, null, true]"), opts))
	// Output: [1 (null) 3]
}

func ExampleFilterArray() {
	names := column(arrow.BinaryTypes.String, `["ATL", "ORD", "SFO"]`)
	showArray(compute.FilterArray(ctx, names, column(boolean, "[false, true, true]"), *compute.DefaultFilterOptions()))
	// Output: ["ORD" "SFO"]
}

// flights is a record batch of two columns.
func flights() arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "origin", Type: arrow.BinaryTypes.String},
		{Name: "delay", Type: i64, Nullable: true},
	}, nil)
	columns := []arrow.Array{column(arrow.BinaryTypes.String, `["ATL", "ORD", "SFO"]`), column(i64, "[75, null, 61]")}
	return array.NewRecordBatch(schema, columns, 3)
}

func ExampleFilterRecordBatch() {
	batch := flights()
	defer batch.Release()
	late, err := compute.FilterRecordBatch(ctx, batch, column(boolean, "[false, true, true]"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer late.Release()
	fmt.Println(late.Column(0), late.Column(1))
	// Output: ["ORD" "SFO"] [(null) 61]
}

func ExampleFilterTable() {
	batch := flights()
	defer batch.Release()
	table := array.NewTableFromRecords(batch.Schema(), []arrow.RecordBatch{batch, batch})
	defer table.Release()

	mask := datum(boolean, "[true, false, false, false, false, true]")
	late, err := compute.FilterTable(ctx, table, mask, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer late.Release()
	fmt.Println(late.NumRows(), "rows of", late.NumCols(), "columns")
	// Output: 2 rows of 2 columns
}
