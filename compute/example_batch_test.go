package compute_test

import (
	"context"
	"fmt"

	"github.com/broadhead-go/broadhead/compute"
)

// Three calls that feed each other, one submission, one wait.
func ExampleNewBatch() {
	b := compute.NewBatch(ctx)
	defer b.Release()
	delay := column(i64, "[12, 75, null, 61]")
	late := b.Call("greater", nil, delay, int64(60))
	over := b.Call("filter", nil, delay, late)
	total := b.Call("sum", nil, over)
	if err := b.Run(); err != nil {
		fmt.Println(err)
		return
	}
	show(over.Datum())
	show(total.Datum())
	// Output:
	// [75 61]
	// 136
}

// Recording never fails: Run returns the first error, which names the function.
func ExampleBatch_Run() {
	b := compute.NewBatch(ctx)
	defer b.Release()
	sum := b.Call("sum", nil, column(i64, "[1, 2]"))
	b.Call("divide", nil, sum, int64(0))
	fmt.Println(b.Run())
	_, err := sum.Datum()
	fmt.Println(err != nil)
	// Output:
	// batch: divide: invalid: divide by zero
	// true
}

func ExampleBatch_Call() {
	b := compute.NewBatch(ctx)
	defer b.Release()
	twice := b.Call("multiply", nil, column(i64, "[1, 2, 3]"), int64(2)) // an array and a Go value
	mean := b.Call("mean", compute.DefaultScalarAggregateOptions(), twice)
	fmt.Println(b.Run())
	show(mean.Datum())
	// Output:
	// <nil>
	// 4
}

// Start returns at once. Done fits a select; Wait's context ends the waiting, not the work.
func ExampleBatch_Start() {
	b := compute.NewBatch(ctx)
	defer b.Release()
	sum := b.Call("sum", nil, column(i64, "[1, 2, 3]"))
	pending := b.Start()
	<-pending.Done()
	fmt.Println(pending.Wait(context.Background()))
	show(sum.Datum())
	// Output:
	// <nil>
	// 6
}

func ExamplePending_Wait() {
	b := compute.NewBatch(ctx)
	defer b.Release()
	count := b.Call("count", nil, column(i64, "[1, null]"))
	fmt.Println(b.Start().Wait(ctx))
	show(count.Datum())
	// Output:
	// <nil>
	// 1
}

// A result exists once the batch has run.
func ExampleValue_Datum() {
	b := compute.NewBatch(ctx)
	defer b.Release()
	sum := b.Call("sum", nil, column(i64, "[1, 2, 3]"))
	_, err := sum.Datum()
	fmt.Println(err)
	fmt.Println(b.Run())
	show(sum.Datum())
	// Output:
	// invalid: the batch has not run to its end
	// <nil>
	// 6
}

// A kept result stays on the device and is an argument of later batches.
func ExampleBatch_Keep() {
	first := compute.NewBatch(ctx)
	twice := first.Keep(first.Call("add", nil, column(i64, "[1, 2, 3]"), column(i64, "[1, 2, 3]")))
	fmt.Println(first.Run())
	first.Release() // the kept column lives on
	defer twice.Release()

	second := compute.NewBatch(ctx)
	defer second.Release()
	sum := second.Call("sum", nil, twice)
	fmt.Println(second.Run())
	show(sum.Datum())
	// Output:
	// <nil>
	// <nil>
	// 12
}

func ExampleColumn_Array() {
	b := compute.NewBatch(ctx)
	defer b.Release()
	kept := b.Keep(b.Call("not", nil, column(boolean, "[true, false, null]")))
	defer kept.Release()
	fmt.Println(b.Run())
	showArray(kept.Array(ctx))
	// Output:
	// <nil>
	// [false true (null)]
}
