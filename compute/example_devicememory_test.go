package compute_test

import (
	"errors"
	"fmt"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

// A program brings its columns to the GPU if there is one, and goes on without.
func ExampleToDevice() {
	onCPU := compute.WithDevice(ctx, nil)
	values := column(i64, "[1, 2, 3]")
	defer values.Release()
	col, err := compute.ToDevice(onCPU, values)
	if errors.Is(err, gpu.ErrNoDevice) {
		fmt.Println(err)
	} else if err == nil {
		defer col.Release()
	}
	show(compute.Sum(onCPU, nil, compute.NewDatumWithoutOwning(values)))
	// Output:
	// gpu: no device: the context asks for the CPU
	// 6
}

func ExampleSetDeviceBudget() {
	err := compute.SetDeviceBudget(compute.WithDevice(ctx, nil), 8<<30)
	fmt.Println(err)
	// Output: gpu: no device: the context asks for the CPU
}

// What it prints depends on the device.
func ExampleDeviceUseOf() {
	use, err := compute.DeviceUseOf(ctx)
	if err != nil {
		return // no GPU
	}
	fmt.Printf("%d columns of %d bytes, budget %d; %d evicted, %d not copied\n",
		use.Columns, use.Bytes, use.Budget, use.Evicted, use.Refused)
}

// A program that will not compute for a while lets others have the GPU's memory.
func ExampleTrimDevice() {
	err := compute.TrimDevice(compute.WithDevice(ctx, nil))
	fmt.Println(err)
	// Output: gpu: no device: the context asks for the CPU
}
