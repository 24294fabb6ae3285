// Command zerocopy shows that a column which a reader or builder makes is used by the GPU where it lies.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/examples/data"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

func main() {
	dev, err := gpu.Default()
	fmt.Println("device:", err == nil) // without one dev is nil, and mem is plain memory in large pages
	mem := memory.New(dev)
	if err := run(compute.WithAllocator(context.Background(), mem), mem); err != nil {
		log.Fatal(err)
	}
	fmt.Println("left:", mem.Stats().Active, "bytes,", mem.Close())
}

func run(ctx context.Context, mem *memory.Allocator) error {
	f, err := ipc.NewFileReader(bytes.NewReader(data.Flights), ipc.WithAllocator(mem))
	if err != nil {
		return err
	}
	defer f.Close()
	flights, err := f.RecordBatchAt(0)
	if err != nil {
		return err
	}
	defer flights.Release()
	show("read", flights.Column(0))

	b := array.NewBooleanBuilder(mem)
	defer b.Release()
	for i := range int(flights.NumRows()) {
		b.Append(i%10 == 0)
	}
	mask := b.NewBooleanArray()
	defer mask.Release()
	show("built", mask)

	kept, err := compute.FilterArray(ctx, flights.Column(0), mask, *compute.DefaultFilterOptions())
	if err != nil {
		return err
	}
	defer kept.Release()
	show("computed", kept)
	return nil
}
