// Command quickstart computes with an arrow array. Only the import path of compute is not arrow-go's.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

func main() {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues([]int64{12, 75, 0, 61, -3}, []bool{true, true, false, true, true})
	delays := b.NewInt64Array()
	defer delays.Release()

	if err := run(context.Background(), delays); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, delays *array.Int64) error {
	d := compute.NewDatumWithoutOwning(delays) // borrows the array: nothing to release
	fmt.Println("delays: ", delays)

	total, err := compute.Sum(ctx, nil, d)
	if err != nil {
		return err
	}
	fmt.Println("sum:    ", total.(*compute.ScalarDatum).Value)

	mean, err := compute.MeanArray(ctx, nil, delays) // the same pattern for one array, as everywhere in arrow-go
	if err != nil {
		return err
	}
	fmt.Println("mean:   ", mean)

	late, err := compute.GreaterDatum(ctx, d, compute.NewDatum(int64(60)))
	if err != nil {
		return err
	}
	defer late.Release()
	kept, err := compute.Filter(ctx, d, late, *compute.DefaultFilterOptions())
	if err != nil {
		return err
	}
	defer kept.Release()
	over := kept.(*compute.ArrayDatum).MakeArray()
	defer over.Release()
	fmt.Println("over 60:", over)
	return nil
}
