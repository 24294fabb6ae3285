// Command registry gives a program that calls arrow-go's own compute package the functions that arrow-go lacks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowcompute "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

func main() {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues([]float64{1e100, 1, -1e100}, nil)
	values := b.NewFloat64Array()
	defer values.Release()

	ctx := context.Background()
	d := arrowcompute.NewDatumWithoutOwning(values)
	_, err := arrowcompute.CallFunction(ctx, "sum", nil, d)
	fmt.Println("arrow-go alone has no sum:", errors.Is(err, arrow.ErrKey))

	compute.Register() // once, before others call: arrow-go's registry is global

	sum, err := arrowcompute.CallFunction(ctx, "sum", nil, d)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sum of", values, "is", sum.(*arrowcompute.ScalarDatum).Value)
}
