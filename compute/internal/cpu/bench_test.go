package cpu

import (
	"fmt"
	"math"
	"testing"
	"unsafe"
)

// benchRows keeps inputs in the second-level cache, so that the kernels show
// and not the memory.
const benchRows = 1 << 15

var (
	sinkWord  uint64
	sinkFloat float64
)

// bench reports the time a row under a name that benchstat can split.
func bench(b *testing.B, name string, rowBytes int, f func()) {
	b.Run(fmt.Sprintf("%s/rows=%d", name, benchRows), func(b *testing.B) {
		b.SetBytes(int64(rowBytes) * benchRows)
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
	})
}

// benchValues are small numbers, as real columns hold.
func benchValues[T Number](seed uint64) []T {
	r := newRand(seed)
	v := make([]T, benchRows)
	for i := range v {
		if isFloat[T]() {
			v[i] = floatOf[T](r.NormFloat64() * 100)
		} else {
			v[i] = T(r.IntN(100))
		}
	}
	return v
}

func benchNulls(percent int) Bitmap {
	if percent == 0 {
		return Bitmap{}
	}
	r := newRand(uint64(percent))
	data := make([]byte, benchRows/8)
	for i := range benchRows {
		if r.IntN(100) >= percent {
			data[i>>3] |= 1 << (i & 7)
		}
	}
	return Bitmap{Data: data}
}

func typed[T Number](rest string) string { return fmt.Sprintf("type=%T%s", T(0), rest) }

func BenchmarkSum(b *testing.B) {
	benchSumInt[int8](b)
	benchSumInt[int32](b)
	benchSumInt[int64](b)
	f64, f32 := benchValues[float64](1), benchValues[float32](1)
	for _, percent := range []int{0, 10} {
		valid := benchNulls(percent)
		nulls := fmt.Sprintf("/nulls=%d", percent)
		bench(b, typed[float64](nulls), 8, func() {
			var e Exact
			e.AddFloat64s(f64, valid)
			sinkFloat = e.Round()
		})
		bench(b, typed[float32](nulls), 4, func() {
			var e Exact
			e.AddFloat32s(f32, valid)
			sinkFloat = e.Round()
		})
	}
	// The hard inputs of an exact sum.
	r := newRand(2)
	for _, d := range distributions[:5] {
		values := make([]float64, benchRows)
		for i := range values {
			values[i] = d.next(r)
		}
		bench(b, "type=float64/values="+d.name, 8, func() {
			var e Exact
			e.AddFloat64s(values, Bitmap{})
			sinkFloat = e.Round()
		})
	}
}

func benchSumInt[T Integer](b *testing.B) {
	values := benchValues[T](1)
	for _, percent := range []int{0, 10} {
		valid := benchNulls(percent)
		nulls := fmt.Sprintf("/nulls=%d", percent)
		bench(b, typed[T](nulls), int(unsafe.Sizeof(T(0))), func() { sinkWord = SumInt(values, valid) })
		bench(b, typed[T](nulls+"/to=int128"), int(unsafe.Sizeof(T(0))), func() { sinkWord = SumInt128(values, valid).Lo })
	}
}

func BenchmarkMinMax(b *testing.B) {
	benchMinMax[int8](b)
	benchMinMax[int32](b)
	benchMinMax[int64](b)
	benchMinMax[float32](b)
	benchMinMax[float64](b)
}

func benchMinMax[T Number](b *testing.B) {
	values := benchValues[T](3)
	for _, percent := range []int{0, 10} {
		valid := benchNulls(percent)
		bench(b, typed[T](fmt.Sprintf("/nulls=%d", percent)), int(unsafe.Sizeof(T(0))), func() {
			e := MinMax(values, valid)
			sinkWord = uint64(e.N)
		})
	}
}

func BenchmarkCompare(b *testing.B) {
	benchCompare[int8](b)
	benchCompare[int32](b)
	benchCompare[int64](b)
	benchCompare[float64](b)
}

func benchCompare[T Number](b *testing.B) {
	x, y := benchValues[T](4), benchValues[T](5)
	dst := make([]byte, benchRows/8)
	size := int(unsafe.Sizeof(T(0)))
	for _, k := range []struct {
		name string
		run  func(a, b []T) uint64
	}{{"equal", Equal[T]}, {"less", Less[T]}} {
		bench(b, typed[T]("/op="+k.name), 2*size, func() {
			for i := 0; i < len(x); i += 64 {
				PutWord(dst, i, len(x), k.run(x[i:i+64], y[i:i+64]))
			}
		})
	}
	bench(b, typed[T]("/op=greater/right=scalar"), size, func() {
		for i := 0; i < len(x); i += 64 {
			PutWord(dst, i, len(x), GreaterTo(x[i:i+64], 50))
		}
	})
}

func BenchmarkArithmetic(b *testing.B) {
	benchArithmetic[int8](b)
	benchArithmetic[int32](b)
	benchArithmetic[int64](b)
	benchBinary(b, "op=add", AddWrap[float64])
	benchBinary(b, "op=multiply", MulWrap[float64])
	benchBinary(b, "op=divide", DivWrap[float64])
}

func benchArithmetic[T Integer](b *testing.B) {
	benchBinary(b, "op=add", AddWrap[T])
	benchBinary(b, "op=add_checked", AddChecked[T])
	benchBinary(b, "op=multiply", MulWrap[T])
	benchBinary(b, "op=multiply_checked", MulChecked[T])
	benchBinary(b, "op=divide_checked", DivChecked[T])
}

func benchBinary[T Number](b *testing.B, name string, f func(out, a, b []T) Status) {
	x, y, out := benchValues[T](6), benchValues[T](7), make([]T, benchRows)
	bench(b, typed[T]("/"+name), 3*int(unsafe.Sizeof(T(0))), func() { sinkWord = uint64(f(out, x, y)) })
}

func BenchmarkFilter(b *testing.B) {
	src, dst := make([]byte, 16*benchRows), make([]byte, 16*benchRows)
	var s Selection
	for _, kept := range []int{1, 50, 90, 100} {
		mask := benchNulls(100 - kept)
		name := fmt.Sprintf("/kept=%d", kept)
		bench(b, "part=select"+name, 0, func() {
			s.Select(mask, Bitmap{}, benchRows, false, 1)
			sinkWord = uint64(s.Count())
		})
		for _, width := range []int{1, 4, 8, 16, 12} {
			bench(b, fmt.Sprintf("width=%d%s", width, name), width, func() {
				s.Values(width, dst[:s.Count()*width], src[:benchRows*width], 1)
			})
		}
		bits := Bitmap{Data: src}
		bits.Data = benchNulls(33).Data
		bench(b, "width=bit"+name, 0, func() { s.Bits(dst, bits, 1) })
	}
}

func BenchmarkBits(b *testing.B) {
	x, y := benchNulls(30), benchNulls(60)
	dst := make([]byte, benchRows/8)
	shifted := Bitmap{Data: append(x.Data, 0), Off: 3}
	bench(b, "op=and/offset=0", 0, func() { AndBits(dst, x, y, benchRows) })
	bench(b, "op=and/offset=3", 0, func() { AndBits(dst, shifted, y, benchRows) })
	bench(b, "op=count/offset=0", 0, func() { sinkWord = uint64(x.Count(benchRows)) })
	bench(b, "op=count/offset=3", 0, func() { sinkWord = uint64(shifted.Count(benchRows)) })
}

// naiveSum is the floor that exact sums are measured against.
func BenchmarkNaiveSum(b *testing.B) {
	values := benchValues[float64](1)
	bench(b, "type=float64", 8, func() {
		s := math.Copysign(0, -1)
		for _, v := range values {
			s += v
		}
		sinkFloat = s
	})
}
