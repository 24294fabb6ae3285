// Command batch records three calls that feed each other and waits for them once.
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
	for i := range int64(1000) {
		b.Append(i % 100)
	}
	delays := b.NewInt64Array()
	defer delays.Release()

	if err := run(context.Background(), delays); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, delays *array.Int64) error {
	b := compute.NewBatch(ctx)
	defer b.Release()
	late := b.Call("greater", nil, delays, int64(60))
	over := b.Call("filter", nil, delays, late) // its length is not known here, and need not be
	total := b.Call("sum", nil, over)

	// Start returns at once. On a GPU the three calls are one submission, and the mask never leaves the device.
	pending := b.Start()
	fmt.Println("recorded three calls; this goroutine is free for other work")
	if err := pending.Wait(ctx); err != nil {
		return err
	}
	n, err := over.Datum()
	if err != nil {
		return err
	}
	defer n.Release()
	sum, err := total.Datum()
	if err != nil {
		return err
	}
	fmt.Println("delays over 60:", n.Len())
	fmt.Println("their sum:", sum.(*compute.ScalarDatum).Value)
	return nil
}
