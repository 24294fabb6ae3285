package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
)

// late is the delay in minutes above which a flight counts as late.
const late = int16(60)

// step is one call. Its arguments are the column of delays, results of earlier steps by name, and scalars.
type step struct {
	name     string
	label    string
	function string
	args     []any // string: an earlier step, or "delay"; else a scalar
}

var steps = []step{
	{"count", "count(delay)", "count", []any{"delay"}},
	{"sum", "sum(delay)", "sum", []any{"delay"}},
	{"mean", "mean(delay)", "mean", []any{"delay"}},
	{"range", "min_max(delay)", "min_max", []any{"delay"}},
	{"late", fmt.Sprintf("late = delay > %d", late), "greater", []any{"delay", late}},
	{"over", "over = filter(delay, late)", "filter", []any{"delay", "late"}},
	{"over count", "count(over)", "count", []any{"over"}},
	{"over sum", "sum(over)", "sum", []any{"over"}},
}

// result is what a step gave, and where and why there.
type result struct {
	step
	value compute.Datum
	where compute.Decision
}

// computeAll runs the steps. Where each runs is what its context, the number of rows and the crossover decide.
func computeAll(ctx context.Context, delay arrow.Array) (results []result, err error) {
	known := map[string]compute.Datum{"delay": compute.NewDatumWithoutOwning(delay)}
	defer func() {
		if err != nil {
			release(results)
		}
	}()
	for _, s := range steps {
		args := make([]compute.Datum, len(s.args))
		for i, a := range s.args {
			if name, ok := a.(string); ok {
				args[i] = known[name]
			} else {
				args[i] = compute.NewDatum(a)
			}
		}
		where, err := compute.Explain(ctx, s.function, nil, args...)
		if err != nil {
			return results, fmt.Errorf("%s: %w", s.label, err)
		}
		value, err := compute.CallFunction(ctx, s.function, nil, args...)
		if err != nil {
			return results, fmt.Errorf("%s: %w", s.label, err)
		}
		known[s.name] = value
		results = append(results, result{s, value, where})
	}
	return results, nil
}

func release(results []result) {
	for _, r := range results {
		r.value.Release()
	}
}
