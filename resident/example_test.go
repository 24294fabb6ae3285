package resident_test

import (
	"context"
	"fmt"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
	"github.com/broadhead-go/broadhead/resident"
)

func ExampleProbe() {
	dev, err := gpu.Open("emulator")
	if err != nil {
		panic(err)
	}
	report, err := resident.Probe(context.Background(), dev, resident.Options{
		Window: 20 * time.Millisecond, Interval: 5 * time.Millisecond, Forms: []string{"volatile"},
	})
	if err != nil {
		panic(err)
	}
	for _, row := range report.Rows {
		fmt.Println(row.Form, row.Sent > 0) // fmt.Println(report) prints the table
	}
	// Output: volatile true
}

func ExampleForms() {
	fmt.Println(resident.Forms("metal")[:2])
	// Output: [plain volatile]
}

func ExampleWatchdogProbe() {
	dev, err := gpu.Open("emulator")
	if err != nil {
		panic(err)
	}
	spins, err := resident.WatchdogProbe(context.Background(), dev, 50*time.Millisecond)
	if err != nil {
		panic(err)
	}
	for _, s := range spins {
		fmt.Println(s.Asked, s.Err) // resident.SpinTable prints how long they ran, too
	}
	// Output:
	// 3.125ms <nil>
	// 12.5ms <nil>
	// 50ms <nil>
}

func ExampleSpinTable() {
	fmt.Print(resident.SpinTable([]resident.Spin{{Asked: time.Second, Ran: 1100 * time.Millisecond}}))
	// Output:
	// asked    ran      the device said
	// 1000.0 ms 1100.0 ms nothing: it ended by itself
}

func ExampleAvailable() {
	dev, err := gpu.Open("emulator")
	if err != nil {
		panic(err)
	}
	fmt.Println(resident.Available(dev))
	// Output: false
}

func ExampleSetMode() {
	dev, err := gpu.Open("emulator") // "cuda" where there is one
	if err != nil {
		panic(err)
	}
	fmt.Println(resident.SetMode(dev, true))
	defer resident.SetMode(dev, false)
	// Output: false
}

func ExampleNewWorker() {
	dev, err := gpu.Open("emulator") // "cuda" where there is one
	if err != nil {
		panic(err)
	}
	w, err := resident.NewWorker(dev, resident.WorkerOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	column, err := dev.Alloc(8000, gpu.Private)
	if err != nil {
		panic(err)
	}
	defer column.Release()
	sum := []gpu.Task{{Op: gpu.WorkerSum, Type: msl.I64, N: 1000, A: gpu.View{Buf: column}}}
	if err := w.Do(context.Background(), sum); err != nil {
		panic(err)
	}
	fmt.Println(int64(sum[0].Result.Value))
	// Output: resident: gpu: not supported by this device: no kernel can stay on a emulator device
}
