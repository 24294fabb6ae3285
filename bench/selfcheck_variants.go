//go:build (linux || (darwin && !nogpu)) && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

// fallbacks counts the calls that the CPU had to answer for a driver, and says why it last did.
func fallbacks(driver string) (n int64, reason string) {
	for _, s := range compute.Stats() {
		if s.Device == driver && s.Fallbacks > 0 {
			n, reason = n+s.Fallbacks, s.LastFallback
		}
	}
	return n, reason
}

// checkChain calls a function on a column that is filtered in the same batch, so that the device alone knows how long it is,
// and compares its answer with the CPU's. All arguments are that column.
func checkChain(ctx context.Context, dev gpu.Device, name string, arity int, column compute.Datum) error {
	mask, err := checkColumn(arrow.FixedWidthTypes.Boolean, false)
	if err != nil {
		return err
	}
	defer mask.Release()
	run := func(dev gpu.Device) (compute.Datum, error) {
		b := compute.NewBatch(compute.WithDevice(ctx, dev))
		defer b.Release()
		kept := b.Call("filter", nil, column, mask)
		v := b.Call(name, optionsOf(name), slices.Repeat([]any{kept}, arity)...)
		if err := b.Run(); err != nil {
			return nil, err
		}
		return v.Datum()
	}
	want, err := run(nil)
	if err != nil {
		return err
	}
	defer want.Release()
	before, _ := fallbacks(metalDriver)
	got, err := run(dev)
	if err != nil {
		return err
	}
	defer got.Release()
	if after, reason := fallbacks(metalDriver); after != before {
		return fmt.Errorf("in a batch after filter the CPU answered: %s", reason)
	}
	if !same(got, want) {
		return fmt.Errorf("in a batch after filter device and CPU differ")
	}
	return nil
}

// indexTypes are those that a dictionary can have.
var indexTypes = checkedTypes[1:9]

// checkDictionaries calls a function on dictionaries of every index type: the device looks their values up.
func checkDictionaries(ctx context.Context, dev gpu.Device, quick bool) (calls int, err error) {
	types, indexes := checkedTypes, indexTypes
	if quick {
		types, indexes = types[4:5], indexes[:1]
	}
	for _, t := range types {
		for _, index := range indexes {
			for nulls := range 4 {
				called, err := checkDictionary(ctx, dev, t, index, nulls&1 != 0, nulls&2 != 0)
				if err != nil {
					return calls, fmt.Errorf("%s by %s, nulls %02b: %w", t, index, nulls, err)
				}
				calls += called
			}
		}
	}
	return calls, nil
}

func checkDictionary(ctx context.Context, dev gpu.Device, t, index arrow.DataType, nullIndexes, nullValues bool) (int, error) {
	values, err := checkColumn(t, nullValues)
	if err != nil {
		return 0, err
	}
	defer values.Release()
	dict := array.NewSlice(values, 0, 20)
	defer dict.Release()
	at, err := checkColumn(index, nullIndexes)
	if err != nil {
		return 0, err
	}
	defer at.Release()
	b := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: index, ValueType: t}, at, dict)
	defer b.Release()
	args := []compute.Datum{compute.NewDatumWithoutOwning(b), compute.NewDatumWithoutOwning(values)}
	return callOnDevice(ctx, dev, "equal", args)
}

// optionsOf are those of a function that needs some.
func optionsOf(name string) compute.FunctionOptions {
	switch name {
	case "cast":
		return compute.SafeCastOptions(arrow.PrimitiveTypes.Float32)
	case "is_in":
		return checkedSet()
	}
	return nil
}

// checkedSet is a set of some of the values of checkColumn, which becomes one of the column's type.
var checkedSet = sync.OnceValue(func() *compute.SetOptions {
	b := array.NewInt8Builder(arrowmem.DefaultAllocator)
	defer b.Release()
	b.AppendValues([]int8{2, 5, 0}, []bool{true, true, false})
	set := b.NewArray()
	defer set.Release()
	return &compute.SetOptions{ValueSet: compute.NewDatum(set), NullBehavior: compute.NullMatchingInconclusive}
})

// callOnDevice makes a call if the device is to answer it, and says how many that were. It is an error if the CPU had to.
func callOnDevice(ctx context.Context, dev gpu.Device, name string, args []compute.Datum) (int, error) {
	opts := optionsOf(name)
	d, err := compute.Explain(ctx, name, opts, args...)
	if err != nil || d.Device != metalDriver {
		return 0, nil // not a type of this function, or one that has no kernel
	}
	ctx = compute.WithAllocator(ctx, arrowmem.DefaultAllocator)
	a := watch(name, dev)
	out, err := compute.CallFunction(ctx, name, opts, args...)
	if err != nil {
		return 0, err
	}
	out.Release()
	return 1, a.err()
}
