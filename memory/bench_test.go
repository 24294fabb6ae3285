package memory

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
)

var benchSizes = []int{64, 4 << 10, 64 << 10, 1 << 20, 80_000_000}

// BenchmarkAllocate is one Allocate and Free, by allocator: go is arrow-go's, uninitialized is ours without clearing.
func BenchmarkAllocate(b *testing.B) {
	a := New(nil)
	goMem := arrowmemory.NewGoAllocator()
	paths := []struct {
		name  string
		alloc func(int) []byte
		free  func([]byte)
	}{
		{"zeroed", a.Allocate, a.Free},
		{"uninitialized", a.AllocateUninitialized, a.Free},
		{"arrowgo", goMem.Allocate, goMem.Free},
	}
	for _, n := range benchSizes {
		for _, p := range paths {
			b.Run(fmt.Sprintf("size=%d/path=%s", n, p.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.free(p.alloc(n))
				}
			})
		}
	}
}

func BenchmarkAllocateParallel(b *testing.B) {
	a := New(nil)
	for _, n := range benchSizes[:4] {
		b.Run(fmt.Sprintf("size=%d/path=uninitialized", n), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					a.Free(a.AllocateUninitialized(n))
				}
			})
		})
	}
}

// BenchmarkWrite allocates, writes every byte and frees: what a kernel's result costs.
func BenchmarkWrite(b *testing.B) {
	const n = 80_000_000
	a := New(nil)
	goMem := arrowmemory.NewGoAllocator()
	b.Run("path=uninitialized", func(b *testing.B) {
		b.SetBytes(n)
		warm := a.AllocateUninitialized(n)
		write(warm)
		a.Free(warm)
		for b.Loop() {
			x := a.AllocateUninitialized(n)
			write(x)
			a.Free(x)
		}
	})
	b.Run("path=arrowgo", func(b *testing.B) {
		b.SetBytes(n)
		for b.Loop() {
			write(goMem.Allocate(n))
		}
	})
}

func write(x []byte) {
	for i, v := 0, arrow.Int64Traits.CastFromBytes(x); i < len(v); i++ {
		v[i] = int64(i)
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, arenas := range []int{1, 100} {
		a := New(nil)
		var x []byte
		for range arenas {
			x = a.AllocateUninitialized(2<<20 + 1)
		}
		b.Run(fmt.Sprintf("arenas=%d", arenas), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := Lookup(x[1000:]); !ok {
					b.Fatal("not found")
				}
			}
		})
	}
}

func BenchmarkNewBuffer(b *testing.B) {
	a := New(nil)
	b.ReportAllocs()
	for b.Loop() {
		buf, err := a.NewBuffer(1 << 20)
		if err != nil {
			b.Fatal(err)
		}
		buf.Release()
	}
}
