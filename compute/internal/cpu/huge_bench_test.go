//go:build linux && amd64 && !noasm

package cpu

import (
	"fmt"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugeRows is more than any cache holds.
const hugeRows = 10_000_000

// huge is rows on huge pages, which is what the memory package gives.
func huge[T Number](b *testing.B) []T {
	const page = 2 << 20
	size := hugeRows * int(unsafe.Sizeof(T(0)))
	all, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Munmap(all) })
	mem := all[-uintptr(pointer(all))&(page-1):]
	_ = unix.Madvise(mem[:(size+page-1)&^(page-1)], unix.MADV_HUGEPAGE)
	v := as[T](mem[:size])
	copy(v, repeated(benchValues[T](1), hugeRows))
	return v
}

// BenchmarkHuge reduces columns in main memory: bytes a second are what counts.
func BenchmarkHuge(b *testing.B) {
	benchHuge[int32](b)
	benchHuge[int64](b)
	benchHuge[float64](b)
}

func benchHuge[T Number](b *testing.B) {
	v, valid := huge[T](b), repeatedBits(10, hugeRows)
	for _, nulls := range []Bitmap{{}, valid} {
		for _, workers := range []int{1, 2} {
			reduce := func(name string, f func(values []T, valid Bitmap)) {
				b.Run(fmt.Sprintf("type=%T/op=%s/nulls=%v/workers=%d", T(0), name, !nulls.All(), workers), func(b *testing.B) {
					b.SetBytes(hugeRows * int64(unsafe.Sizeof(T(0))))
					for b.Loop() {
						Parallel(hugeRows, 32<<10, workers, func(_, start, end int) { f(v[start:end], nulls.Slice(start)) })
					}
				})
			}
			reduce("sum", sumAny[T])
			reduce("min_max", func(values []T, valid Bitmap) { sinkWord = uint64(MinMax(values, valid).N) })
		}
	}
}
