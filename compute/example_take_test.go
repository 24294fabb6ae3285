package compute_test

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleTake() {
	show(compute.Take(ctx, *compute.DefaultTakeOptions(), datum(i64, "[10, 20, 30]"), datum(i8, "[2, null, 0, 2]")))
	// Output: [30 (null) 10 30]
}

// Rows of a record batch, here its last two in the other order.
func ExampleTake_recordBatch() {
	batch := flights()
	defer batch.Release()
	out, err := compute.Take(ctx, compute.TakeOptions{}, compute.NewDatumWithoutOwning(batch), datum(i64, "[2, 1]"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer out.Release()
	rows := out.(*compute.RecordDatum).Value
	fmt.Println(rows.Column(0), rows.Column(1))
	// Output: ["SFO" "ORD"] [61 (null)]
}

func ExampleTakeArray() {
	names := column(arrow.BinaryTypes.String, `["ATL", "ORD", "SFO"]`)
	showArray(compute.TakeArray(ctx, names, column(i64, "[2, 0, 0]")))
	// Output: ["SFO" "ATL" "ATL"]
}

func ExampleTakeArrayOpts() {
	_, err := compute.TakeArrayOpts(ctx, column(i64, "[10, 20]"), column(i64, "[1, 2]"), compute.TakeOptions{})
	fmt.Println(err)
	// Output: index error: index 2 of row 1 is out of bounds of 2 rows
}
