package compute_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

func ExampleCumulativeSum() {
	values, _, _ := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64, strings.NewReader("[1, 2, null, 4]"))
	defer values.Release()
	opts := compute.CumulativeOptions{Start: scalar.NewInt64Scalar(10), SkipNulls: true}
	sums, err := compute.CumulativeSum(context.Background(), opts, compute.NewDatumWithoutOwning(values))
	if err != nil {
		panic(err)
	}
	defer sums.Release()
	fmt.Println(sums.(*compute.ArrayDatum).MakeArray())
	// Output: [11 13 (null) 17]
}

func ExampleCumulativeSumChecked() {
	values, _, _ := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int8, strings.NewReader("[100, 27, 1]"))
	defer values.Release()
	_, err := compute.CumulativeSumChecked(context.Background(), compute.CumulativeOptions{}, compute.NewDatumWithoutOwning(values))
	fmt.Println(err)
	// Output: invalid: overflow
}
