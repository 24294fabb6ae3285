package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

// agree runs every step once on the CPU and once on dev, whatever the crossovers say, and compares the answers.
func agree(ctx context.Context, out io.Writer, dev gpu.Device, delay arrow.Array) error {
	onCPU, err := computeAll(compute.WithDevice(ctx, nil), delay)
	if err != nil {
		return err
	}
	defer release(onCPU)
	if err := compute.SetCrossover("", 0); err != nil {
		return err
	}
	onGPU, err := computeAll(compute.WithDevice(ctx, dev), delay)
	if err != nil {
		return err
	}
	defer release(onGPU)

	fmt.Fprintln(out)
	ran, same := 0, 0
	for i, r := range onGPU {
		if r.where.Device == dev.Info().Driver {
			ran++
		} else {
			fmt.Fprintf(out, "%s stays on the CPU: %s\n", r.label, r.where.Reason)
		}
		equal, err := sameBits(ctx, onCPU[i].value, r.value)
		if err != nil {
			return err
		}
		if equal {
			same++
		} else {
			fmt.Fprintf(out, "%s differs: CPU %s, GPU %s\n", r.label, show(onCPU[i].value), show(r.value))
		}
	}
	fmt.Fprintf(out, "CPU and GPU: %d of %d answers agree bit for bit; %d were computed by %s\n",
		same, len(onGPU), ran, dev.Info().Driver)
	for _, s := range compute.Stats() {
		if s.Fallbacks > 0 {
			fmt.Fprintf(out, "%s fell back to the CPU: %s\n", s.Function, s.LastFallback)
		}
	}
	if same != len(onGPU) {
		return errors.New("CPU and GPU differ")
	}
	return nil
}

// sameBits compares two results by type, length, validity and the bits of valid values.
func sameBits(ctx context.Context, a, b compute.Datum) (bool, error) {
	left, err := toArray(ctx, a)
	if err != nil {
		return false, err
	}
	defer left.Release()
	right, err := toArray(ctx, b)
	if err != nil {
		return false, err
	}
	defer right.Release()
	if !arrow.TypeEqual(left.DataType(), right.DataType()) || !array.Equal(left, right) {
		return false, nil
	}
	// array.Equal takes 0 and -0 for equal
	l, ok := left.(*array.Float64)
	for i := 0; ok && i < l.Len(); i++ {
		if l.IsValid(i) && math.Float64bits(l.Value(i)) != math.Float64bits(right.(*array.Float64).Value(i)) {
			return false, nil
		}
	}
	return true, nil
}

func toArray(ctx context.Context, d compute.Datum) (arrow.Array, error) {
	switch v := d.(type) {
	case *compute.ScalarDatum:
		return scalar.MakeArrayFromScalar(v.Value, 1, compute.GetAllocator(ctx))
	case *compute.ArrayDatum:
		return v.MakeArray(), nil
	}
	return nil, fmt.Errorf("a %s is no column", d.Kind())
}
