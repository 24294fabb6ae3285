package compute_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// What the examples of this package share.
var (
	ctx = context.Background()

	i8, i64 = arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int64
	f64     = arrow.PrimitiveTypes.Float64
	boolean = arrow.FixedWidthTypes.Boolean
)

// column makes an array of JSON text.
func column(t arrow.DataType, json string) arrow.Array {
	a, _, err := array.FromJSON(arrowmemory.DefaultAllocator, t, strings.NewReader(json))
	if err != nil {
		panic(err)
	}
	return a
}

// datum is column as an argument.
func datum(t arrow.DataType, json string) compute.Datum {
	return compute.NewDatumWithoutOwning(column(t, json))
}

// show prints a result and releases it.
func show(d compute.Datum, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Release()
	switch v := d.(type) {
	case *compute.ScalarDatum:
		showScalar(v.Value, nil)
	case *compute.ArrayDatum:
		showArray(v.MakeArray(), nil)
	}
}

func showScalar(s scalar.Scalar, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s)
}

func showArray(a arrow.Array, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Release()
	fmt.Println(a)
}

func Example() {
	b := array.NewInt64Builder(arrowmemory.DefaultAllocator)
	defer b.Release()
	b.AppendValues([]int64{12, 75, 0, 61}, []bool{true, true, false, true})
	delays := b.NewInt64Array()
	defer delays.Release()

	total, err := compute.Sum(context.Background(), nil, compute.NewDatumWithoutOwning(delays))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(total.(*compute.ScalarDatum).Value)
	// Output: 148
}

// Columns and results in memory of a device are used by it where they lie.
func Example_zeroCopy() {
	dev, err := gpu.Default()
	if err != nil {
		dev = nil // no GPU: the CPU computes, in plain memory
	}
	mem := memory.New(dev)
	ctx := compute.WithAllocator(context.Background(), mem)

	b := array.NewInt64Builder(mem) // readers as well: ipc.WithAllocator(mem)
	defer b.Release()
	b.AppendValues([]int64{1, 2, 3}, nil)
	values := b.NewInt64Array()
	defer values.Release()

	twice, err := compute.Add(ctx, compute.ArithmeticOptions{},
		compute.NewDatumWithoutOwning(values), compute.NewDatumWithoutOwning(values))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer twice.Release()
	result := twice.(*compute.ArrayDatum).Value
	fmt.Println("result in the allocator's memory:", mem.Owns(result.Buffers()[1].Bytes()))
	// Output: result in the allocator's memory: true
}
