package compute_test

import (
	"fmt"
	"log/slog"

	arrowcompute "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

func ExampleCallFunction() {
	show(compute.CallFunction(ctx, "min_max", nil, datum(i64, "[3, null, 1]")))
	show(compute.CallFunction(ctx, "is_in", &compute.SetOptions{ValueSet: datum(i64, "[1]")}, datum(i64, "[3, 1]")))
	_, err := compute.CallFunction(ctx, "no such function", nil)
	fmt.Println(err)
	// Output:
	// {min:int64 = 1, max:int64 = 3}
	// [false true]
	// key error: function 'no such function' not found
}

// A program that calls arrow-go's package finds the functions that arrow-go lacks.
func ExampleRegister() {
	compute.Register()
	show(arrowcompute.CallFunction(ctx, "sum", nil, datum(i64, "[1, 2, 3]")))
	// Output: 6
}

// A nil device keeps the calls of a context on the CPU.
func ExampleWithDevice() {
	onCPU := compute.WithDevice(ctx, nil)
	show(compute.Sum(onCPU, nil, datum(i64, "[1, 2, 3]")))
	// Output: 6
}

func ExampleExplain() {
	d, err := compute.Explain(compute.WithDevice(ctx, nil), "sum", nil, datum(i64, "[1, 2, 3]"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Device, d.Rows)
	fmt.Println(d)
	// Output:
	// cpu 3
	// sum of 3 rows on cpu: gpu: no device: the context asks for the CPU
}

func ExampleDecision_String() {
	d := compute.Decision{Function: "sum", Device: "metal", Rows: 20_000_000, Reason: "above the crossover"}
	fmt.Println(d)
	// Output: sum of 20000000 rows on metal: above the crossover
}

// runs is how often a function has run on the CPU.
func runs(function string) int64 {
	for _, s := range compute.Stats() {
		if s.Function == function && s.Device == "cpu" {
			return s.Runs
		}
	}
	return 0
}

func ExampleStats() {
	before := runs("multiply")
	show(compute.Multiply(compute.WithDevice(ctx, nil), compute.ArithmeticOptions{}, datum(i64, "[2]"), datum(i64, "[3]")))
	fmt.Println("runs on the CPU:", runs("multiply")-before)
	// Output:
	// [6]
	// runs on the CPU: 1
}

// What it prints depends on the devices that have been used.
func ExamplePipelines() {
	for _, p := range compute.Pipelines() {
		fmt.Printf("%s: %d kernels compiled, found ready %d times\n", p.Device, p.Builds, p.Hits)
	}
}

// Fallbacks become warnings. There are none where every device works.
func ExampleSetLogger() {
	compute.SetLogger(slog.Default())
	defer compute.SetLogger(nil)
	show(compute.Sum(ctx, nil, datum(i64, "[1, 2, 3]")))
	// Output: 6
}

func ExampleSetCrossover() {
	fmt.Println(compute.SetCrossover("sum", 1_000_000)) // on the GPU from a million rows on
	fmt.Println(compute.SetCrossover("sum", compute.Never))
	fmt.Println(compute.SetCrossover("sum", -1)) // the default again
	fmt.Println(compute.SetCrossover("no such function", 0))
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// compute: SetCrossover: no function "no such function"
}

func ExampleCrossovers() {
	compute.SetCrossover("sum", 1_000_000)
	defer compute.SetCrossover("sum", -1)
	for _, c := range compute.Crossovers(gpu.Info{Driver: "metal"}) {
		if c.Function == "sum" {
			fmt.Printf("%s of %d-byte values %s: %d rows, %s\n", c.Function, c.Width, c.Place, c.Rows, c.From)
		}
	}
	// Output:
	// sum of 8-byte values in device memory: 1000000 rows, set for sum
	// sum of 8-byte values in GPU-visible memory: 1000000 rows, set for sum
	// sum of 8-byte values in foreign memory: 1000000 rows, set for sum
}

func ExampleEnvError() {
	if err := compute.EnvError(); err != nil {
		fmt.Println("BROADHEAD_CROSSOVER:", err)
	}
	// Output:
}
