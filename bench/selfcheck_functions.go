//go:build (linux || (darwin && !nogpu)) && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal"
)

// matches is how go test matches names.
func matches(pattern, name string) (bool, error) { return regexp.MatchString(pattern, name) }

// checkedTypes are the types of the columns that functions are tried on.
var checkedTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
}

// checkFunctions calls every function that has kernels, on every type, with every combination of nulls and with lengths
// that only the device knows; and one on dictionaries. The first call
// of each makes package compute compare the device with the CPU on rows that are likely to differ (its admission).
func checkFunctions(ctx context.Context, quick bool, emit func(metal.Finding)) error {
	dev, err := gpu.Open(metalDriver)
	if err != nil {
		return err
	}
	if err := compute.SetCrossover("", 0); err != nil {
		return err
	}
	compute.Register() // or arrow-go's registry, which says how many arguments a function takes, does not have all
	ctx = compute.WithDevice(ctx, dev)
	tried := map[string]bool{}
	for _, c := range compute.Crossovers(dev.Info()) {
		function, found := compute.GetFunctionRegistry().GetFunction(c.Function)
		if !found || tried[c.Function] {
			continue // a row that a function's options choose, or one for another place of the inputs
		}
		tried[c.Function] = true
		if err := ctx.Err(); err != nil {
			return err
		}
		arity := function.Arity()
		if arity.IsVarArgs {
			arity.NArgs = 2 // one argument would be its own answer
		}
		emit(checkFunction(ctx, dev, c.Function, arity.NArgs, quick))
	}
	start := time.Now()
	calls, err := checkDictionaries(ctx, dev, quick)
	f := metal.Finding{Part: "functions", Name: "dictionaries", OK: err == nil && calls > 0, Detail: agreed(calls), Took: time.Since(start)}
	if err != nil {
		f.Detail = err.Error()
	}
	emit(f)
	return nil
}

// agreed says how many calls there were.
func agreed(calls int) string {
	if calls == 0 {
		return "the device was asked nothing"
	}
	return plural(calls, "call") + " on the device, as on the CPU"
}

// checkFunction tries one function.
func checkFunction(ctx context.Context, dev gpu.Device, name string, arity int, quick bool) metal.Finding {
	f := metal.Finding{Part: "functions", Name: name}
	start := time.Now()
	types, first, last := checkedTypes, 0, 1<<arity-1
	if quick {
		types, first = []arrow.DataType{arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64}, last
	}
	calls := 0
	for _, t := range types {
		for nulls := first; nulls <= last; nulls++ {
			called, err := checkCall(ctx, dev, name, arity, t, nulls)
			if err != nil {
				f.Detail = fmt.Sprintf("%s, nulls in %0*b of the arguments, the last first: %v", t, arity, nulls, err)
				f.Took = time.Since(start)
				return f
			}
			calls += called
		}
	}
	f.OK, f.Detail, f.Took = calls > 0, agreed(calls), time.Since(start)
	return f
}

// checkCall makes one call if the device is to answer it, and one on filtered columns, and says how many that were. It is
// an error if the CPU had to answer. Bit i of nulls says whether argument i has nulls.
func checkCall(ctx context.Context, dev gpu.Device, name string, arity int, t arrow.DataType, nulls int) (int, error) {
	var args []compute.Datum
	for i := range arity {
		of := t
		if name == "filter" && i == 1 {
			of = arrow.FixedWidthTypes.Boolean
		}
		column, err := checkColumn(of, nulls&(1<<i) != 0)
		if err != nil {
			return 0, err
		}
		defer column.Release()
		args = append(args, compute.NewDatumWithoutOwning(column))
	}
	called, err := callOnDevice(ctx, dev, name, args)
	if called == 0 || err != nil || name == "filter" {
		return called, err
	}
	return called + 1, checkChain(ctx, dev, name, arity, args[0])
}

// checkColumn has the values 1 to 7 in turn, which no function fails on.
func checkColumn(t arrow.DataType, nulls bool) (arrow.Array, error) {
	const rows = 1000
	b := array.NewBuilder(arrowmem.DefaultAllocator, t)
	defer b.Release()
	for i := range rows {
		text := strconv.Itoa(1 + i%7)
		if t.ID() == arrow.BOOL {
			text = strconv.FormatBool(i%3 == 0)
		}
		if nulls && i%5 == 0 {
			b.AppendNull()
		} else if err := b.AppendValueFromString(text); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}
