package cpu

import (
	"fmt"
	"testing"
	"unsafe"
)

// BenchmarkCast converts in cache and in memory, on one core.
func BenchmarkCast(b *testing.B) {
	benchCast[int64, int32](b)
	benchCast[int32, int64](b)
	benchCast[int64, float64](b)
	benchCast[int64, float32](b)
	benchCast[float64, int64](b)
	benchCast[float64, int32](b)
	benchCast[float64, float32](b)
	benchCast[float32, float64](b)
	benchCast[int8, int32](b)
	benchCast[int32, uint8](b)
}

func benchCast[I, O Number](b *testing.B) {
	for _, rows := range []int{benchRows, 10_000_000} {
		in, out := make([]I, rows), make([]O, rows)
		for i := range in {
			in[i] = I(i % 100)
		}
		for _, checked := range []bool{false, true} {
			if checked && !canLose[O, I]() {
				continue
			}
			b.Run(fmt.Sprintf("from=%T/to=%T/rows=%d/checked=%t", I(0), O(0), rows, checked), func(b *testing.B) {
				b.SetBytes(int64(rows) * int64(unsafe.Sizeof(I(0))+unsafe.Sizeof(O(0))))
				for b.Loop() {
					if checked {
						CastChecked(out, in)
					} else {
						CastWrap(out, in)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
			})
		}
	}
}
