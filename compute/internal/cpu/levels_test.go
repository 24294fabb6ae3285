//go:build linux && amd64 && !noasm

package cpu

import (
	"fmt"
	"testing"
	"unsafe"
)

// BenchmarkLevels compares the instruction sets with Go alone, in cache and in
// memory, on one core.
func BenchmarkLevels(b *testing.B) {
	for _, rows := range []int{benchRows, 10_000_000} {
		benchLevels[int32](b, rows)
		benchLevels[int64](b, rows)
		benchLevels[float64](b, rows)
	}
}

func benchLevels[T Number](b *testing.B, rows int) {
	x, y, out := repeated(benchValues[T](1), rows), repeated(benchValues[T](2), rows), make([]T, rows)
	words := make([]uint64, (rows+63)/64)
	valid, half := repeatedBits(10, rows), repeatedBits(50, rows)
	size := int(unsafe.Sizeof(T(0)))
	ops := []struct {
		name  string
		bytes int
		run   func()
	}{
		{"compare", 2 * size, func() { Compare(IsLess, words, x, y) }},
		{"compare_scalar", size, func() { CompareTo(IsGreater, words, x, 50) }},
		{"sum", size, func() { sumAny(x, Bitmap{}) }},
		{"sum/nulls=10", size, func() { sumAny(x, valid) }},
		{"min_max", size, func() { sinkWord = uint64(MinMax(x, Bitmap{}).N) }},
		{"min_max/nulls=10", size, func() { sinkWord = uint64(MinMax(x, valid).N) }},
		{"filter/kept=50", 2 * size, func() {
			s := selected(half, Bitmap{}, rows, false, 1)
			s.Values(size, bytesOf(out), bytesOf(x), 1)
		}},
		{"add", 3 * size, func() { AddWrap(out, x, y) }},
		{"add_checked", 3 * size, func() { addChecked(out, x, y) }},
		{"multiply_checked", 3 * size, func() { mulChecked(out, x, y) }},
	}
	for _, op := range ops {
		for l := levelNone; l <= detect(); l++ {
			name := []string{levelNone: "go", levelAVX2: "avx2", levelAVX512: "avx512"}[l]
			b.Run(fmt.Sprintf("type=%T/%s/rows=%d/level=%s", T(0), op.name, rows, name), func(b *testing.B) {
				b.SetBytes(int64(op.bytes) * int64(rows))
				withLevel(l, func() {
					for b.Loop() {
						op.run()
					}
				})
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
			})
		}
	}
}

func repeated[T any](v []T, n int) []T {
	out := make([]T, 0, n)
	for len(out) < n {
		out = append(out, v[:min(len(v), n-len(out))]...)
	}
	return out
}

func repeatedBits(percent, n int) Bitmap {
	return Bitmap{Data: repeated(benchNulls(percent).Data, (n+7)/8)}
}

func bytesOf[T any](v []T) []byte {
	return unsafe.Slice((*byte)(pointer(v)), len(v)*int(unsafe.Sizeof(*new(T))))
}

func sumAny[T Number](v []T, valid Bitmap) {
	var e Exact
	switch v := any(v).(type) {
	case []int32:
		sinkWord = SumInt(v, valid)
	case []int64:
		sinkWord = SumInt(v, valid)
	case []float64:
		e.AddFloat64s(v, valid)
		sinkFloat = e.Round()
	}
}

// addChecked and mulChecked check integers; floats have nothing to check.
func addChecked[T Number](out, a, b []T) {
	switch out := any(out).(type) {
	case []int32:
		AddChecked(out, any(a).([]int32), any(b).([]int32))
	case []int64:
		AddChecked(out, any(a).([]int64), any(b).([]int64))
	default:
		AddWrap(out.([]T), a, b)
	}
}

func mulChecked[T Number](out, a, b []T) {
	switch out := any(out).(type) {
	case []int32:
		MulChecked(out, any(a).([]int32), any(b).([]int32))
	case []int64:
		MulChecked(out, any(a).([]int64), any(b).([]int64))
	default:
		MulWrap(out.([]T), a, b)
	}
}
