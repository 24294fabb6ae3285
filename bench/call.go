package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/math"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

// caller computes a workload once.
type caller func(context.Context, *columns) (compute.Datum, error)

// ours computes with Broadhead: on dev, however few rows there are, or on the CPU if dev is nil. Results come from mem.
func (w *workload) ours(mem arrowmem.Allocator, dev gpu.Device) (caller, error) {
	if dev != nil {
		if err := compute.SetCrossover(w.function, 0); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, c *columns) (compute.Datum, error) {
		ctx = compute.WithAllocator(compute.WithDevice(ctx, dev), mem)
		return compute.CallFunction(ctx, w.function, w.options(), c.datums...)
	}, nil
}

// arrowGo computes with arrow-go, and is nil where it does not have the function.
func (w *workload) arrowGo(t arrow.DataType, nullPercent int) caller {
	if _, ok := ac.GetFunctionRegistry().GetFunction(w.function); ok {
		return func(ctx context.Context, c *columns) (compute.Datum, error) {
			return ac.CallFunction(ctx, w.function, w.options(), c.datums...)
		}
	}
	// Package math ignores validity.
	if w.function != "sum" || nullPercent > 0 {
		return nil
	}
	switch t.ID() {
	case arrow.INT64:
		return func(_ context.Context, c *columns) (compute.Datum, error) {
			return compute.NewDatum(math.Int64.Sum(c.arrays[0].(*array.Int64))), nil
		}
	case arrow.FLOAT64:
		return func(_ context.Context, c *columns) (compute.Datum, error) {
			return compute.NewDatum(math.Float64.Sum(c.arrays[0].(*array.Float64))), nil
		}
	}
	return nil
}

// once calls a function and drops its result.
func once(ctx context.Context, call caller, c *columns) error {
	out, err := call(ctx, c)
	if err != nil {
		return err
	}
	out.Release()
	return nil
}

// answered says whether dev itself has answered a call between two looks at the fallbacks of a function.
type answered struct {
	function, driver string
	fallbacks        int64
}

func watch(function string, dev gpu.Device) answered {
	a := answered{function: function, driver: dev.Info().Driver}
	a.fallbacks, _ = a.look()
	return a
}

func (a *answered) look() (fallbacks int64, reason string) {
	for _, s := range compute.Stats() {
		if s.Function == a.function && s.Device == a.driver {
			return s.Fallbacks, s.LastFallback
		}
	}
	return 0, ""
}

// err is not nil if the CPU had to answer for the device.
func (a *answered) err() error {
	if n, reason := a.look(); n != a.fallbacks {
		return fmt.Errorf("the CPU answered for %s: %s", a.driver, reason)
	}
	return nil
}

// compare computes a small column of 64-bit integers by arrow-go, on the CPU, and on dev if it is not nil. It returns
// in words who agreed; to differ is an error.
func (w *workload) compare(ctx context.Context, mem arrowmem.Allocator, dev gpu.Device) (string, error) {
	const rows = 1000
	t := arrow.PrimitiveTypes.Int64
	c, err := w.columns(mem, t, rows, 0)
	if err != nil {
		return "", err
	}
	defer c.release()
	cpu, err := w.ours(mem, nil)
	if err != nil {
		return "", err
	}
	got, err := cpu(ctx, c)
	if err != nil {
		return "", err
	}
	defer got.Release()
	who := "computed on the CPU"
	if other := w.arrowGo(t, 0); other != nil {
		want, err := other(ctx, c)
		if err != nil {
			return "", fmt.Errorf("arrow-go: %w", err)
		}
		defer want.Release()
		if !same(got, want) {
			return "", fmt.Errorf("the CPU's answer is not arrow-go's")
		}
		who = "the CPU agrees with arrow-go"
	}
	if dev == nil {
		return who, nil
	}
	if err := w.agree(ctx, mem, dev, c, got); err != nil {
		return "", err
	}
	return who + ", " + dev.Info().Driver + " with the CPU", nil
}

// agree computes on dev and compares with what the CPU has found.
func (w *workload) agree(ctx context.Context, mem arrowmem.Allocator, dev gpu.Device, c *columns, want compute.Datum) error {
	call, err := w.ours(mem, dev)
	if err != nil {
		return err
	}
	a := watch(w.function, dev)
	got, err := call(ctx, c)
	if err != nil {
		return err
	}
	defer got.Release()
	if err := a.err(); err != nil {
		return err
	}
	if !same(got, want) {
		return fmt.Errorf("the answers of %s and the CPU differ", dev.Info().Driver)
	}
	return nil
}

// same compares arrays and scalars without NaNs.
func same(a, b compute.Datum) bool {
	if x, ok := a.(*compute.ScalarDatum); ok {
		y, ok := b.(*compute.ScalarDatum)
		return ok && scalar.Equals(x.Value, y.Value)
	}
	x, ok := a.(*compute.ArrayDatum)
	y, also := b.(*compute.ArrayDatum)
	if !ok || !also {
		return false
	}
	left, right := x.MakeArray(), y.MakeArray()
	defer left.Release()
	defer right.Release()
	return array.Equal(left, right)
}
