//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"math"
	"slices"
)

// quantity is a distribution in milliseconds.
type quantity struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
}

// between is the time from one stamp to another, row by row, in milliseconds.
func between(from, to []int64) []float64 {
	out := make([]float64, min(len(from), len(to)))
	for i := range out {
		out[i] = float64(to[i]-from[i]) / 1e3
	}
	return out
}

// percentile is the smallest value that p percent do not exceed, 0 of none.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return s[max(int(math.Ceil(p/100*float64(len(s))))-1, 0)]
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

func quantityOf(values []float64) quantity {
	return quantity{len(values), mean(values), percentile(values, 50), percentile(values, 95), percentile(values, 99)}
}
