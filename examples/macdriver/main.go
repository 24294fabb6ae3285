//go:build darwin && cgo

// Command macdriver shows a column whose Metal buffer an application uses as well, one written with DarwinKit (macdriver).
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow/array"
	kit "github.com/progrium/darwinkit/macos/metal"
	"github.com/progrium/darwinkit/objc"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu/metal/darwinkit"
	"github.com/broadhead-go/broadhead/memory"
)

func main() {
	var err error
	objc.WithAutoreleasePool(func() { err = run(context.Background()) })
	if err != nil {
		log.Fatal(err)
	}
}

// run is the application: it has a device and a queue of its own.
func run(ctx context.Context) (err error) {
	device, err := darwinkit.SystemDevice()
	if err != nil {
		return err
	}
	defer device.Release()
	queue := device.NewCommandQueue()
	defer queue.Release()
	fmt.Println("device:", device.Name())

	dev, err := darwinkit.Adopt(device, queue)
	if err != nil {
		return err
	}
	mem := memory.New(dev)
	defer func() { err = errors.Join(err, mem.Close(), dev.Close()) }()
	ctx = compute.WithAllocator(compute.WithDevice(ctx, dev), mem)

	doubled, err := double(ctx, mem)
	if err != nil {
		return err
	}
	defer doubled.Release()
	return draw(ctx, device, queue, doubled)
}

// double computes a column, in memory that the application's device sees.
func double(ctx context.Context, mem *memory.Allocator) (*array.Int64, error) {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	for i := range 1_000_000 {
		b.Append(int64(i))
	}
	column := b.NewInt64Array()
	defer column.Release()
	d := compute.NewDatumWithoutOwning(column)
	sum, err := compute.Add(ctx, compute.ArithmeticOptions{}, d, d)
	if err != nil {
		return nil, err
	}
	defer sum.Release()
	return sum.(*compute.ArrayDatum).MakeArray().(*array.Int64), nil
}

// draw stands for what an application does with a column: its own commands read the column's buffer where it lies. Here
// they copy it into a buffer of the application's, which is then read as a column.
func draw(ctx context.Context, device kit.DeviceObject, queue kit.CommandQueueObject, column *array.Int64) error {
	values := column.Data().Buffers()[1].Bytes()
	place, ok := memory.Lookup(values)
	if !ok {
		return errors.New("the column is not in memory of the device")
	}
	from, err := darwinkit.Buffer(place.Buffer())
	if err != nil {
		return err
	}
	to := device.NewBufferWithLengthOptions(uint(len(values)), kit.ResourceStorageModeShared)
	defer to.Release()

	commands := queue.CommandBuffer()
	blit := commands.BlitCommandEncoder()
	blit.CopyFromBufferSourceOffsetToBufferDestinationOffsetSize(from, uint(place.Offset()), to, 0, uint(len(values)))
	kit.CommandEncoderObject{Object: blit.Object}.EndEncoding()
	commands.Commit()
	commands.WaitUntilCompleted()

	bytes, err := darwinkit.Bytes(to)
	if err != nil {
		return err
	}
	return sum(ctx, bytes)
}
