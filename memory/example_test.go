package memory_test

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// Builders that are given the allocator make columns a device can read where they are.
func Example() {
	mem := memory.New(nil) // or memory.New(dev)
	b := array.NewInt64Builder(mem)
	b.AppendValues([]int64{1, 2, 3}, nil)
	col := b.NewInt64Array()
	b.Release()

	place, ok := memory.Lookup(col.Data().Buffers()[1].Bytes())
	fmt.Println("found:", ok, "on a device:", place.Buffer() != nil)

	col.Release()
	fmt.Println(mem.Stats().Active, "bytes in use,", mem.Close())
	// Output:
	// found: true on a device: false
	// 0 bytes in use, <nil>
}

func ExampleNew() {
	mem := memory.New(nil, memory.WithLimit(1<<30), memory.WithCacheLimit(64<<20))
	defer mem.Close()
	fmt.Println(mem.Device(), mem.Stats().Limit)
	// Output: <nil> 1073741824
}

func ExampleWithLimit() {
	mem := memory.New(nil, memory.WithLimit(16<<20))
	defer mem.Close()
	_, err := mem.TryAllocateUninitialized(20 << 20)
	fmt.Println(errors.Is(err, gpu.ErrOutOfMemory))
	// Output: true
}

func ExampleWithCacheLimit() {
	mem := memory.New(nil, memory.WithCacheLimit(0))
	defer mem.Close()
	mem.Free(mem.Allocate(100 << 20))
	fmt.Println(mem.Stats().Cached)
	// Output: 0
}

func ExampleAllocator_Allocate() {
	mem := memory.New(nil)
	defer mem.Close()
	b := mem.Allocate(100)
	fmt.Println(len(b), cap(b), b[99])
	mem.Free(b)
	// Output: 100 100 0
}

func ExampleAllocator_AllocateUninitialized() {
	mem := memory.New(nil)
	defer mem.Close()
	b := mem.AllocateUninitialized(4)
	copy(b, "full") // every byte: what was there is anything
	fmt.Println(string(b))
	mem.Free(b)
	// Output: full
}

func ExampleAllocator_TryAllocateUninitialized() {
	mem := memory.New(nil)
	defer mem.Close()
	_, err := mem.TryAllocateUninitialized(-1)
	fmt.Println(err)
	// Output: memory: cannot allocate -1 bytes
}

func ExampleAllocator_Reallocate() {
	mem := memory.New(nil)
	defer mem.Close()
	b := mem.Allocate(3)
	copy(b, "abc")
	b = mem.Reallocate(1000, b)
	fmt.Printf("%q %d\n", b[:4], len(b))
	mem.Free(b)
	// Output: "abc\x00" 1000
}

func ExampleAllocator_Free() {
	mem := memory.New(nil)
	defer mem.Close()
	b := mem.Allocate(1000)
	mem.Free(b[:10]) // the block, whatever the length
	fmt.Println(mem.Stats().Active)
	// Output: 0
}

func ExampleAllocator_NewBuffer() {
	mem := memory.New(nil)
	defer mem.Close()
	buf, err := mem.NewBuffer(5)
	if err != nil {
		fmt.Println(err)
		return
	}
	copy(buf.Bytes(), "bytes")
	fmt.Println(string(buf.Bytes()), mem.Stats().Blocks)
	buf.Release() // dropping buf would do as well
	fmt.Println(mem.Stats().Blocks)
	// Output:
	// bytes 1
	// 0
}

func ExampleAllocator_Owns() {
	mem := memory.New(nil)
	defer mem.Close()
	b := mem.Allocate(10)
	fmt.Println(mem.Owns(b[3:5]), mem.Owns([]byte("other")))
	mem.Free(b)
	fmt.Println(mem.Owns(b))
	// Output:
	// true false
	// false
}

func ExampleAllocator_Device() {
	mem := memory.New(nil)
	defer mem.Close()
	fmt.Println(mem.Device() == nil)
	// Output: true
}

func ExampleAllocator_Stats() {
	mem := memory.New(nil)
	defer mem.Close()
	b, c := mem.Allocate(1<<20), mem.Allocate(100)
	mem.Free(b)
	s := mem.Stats()
	fmt.Println(s.Active, s.Peak, s.Cached == s.Reserved-s.Active, s.Blocks, s.Arenas)
	mem.Free(c)
	// Output: 128 1048704 true 1 1
}

func ExampleAllocator_SetLimit() {
	mem := memory.New(nil)
	defer mem.Close()
	mem.Free(mem.Allocate(100 << 20)) // cached
	mem.SetLimit(16 << 20)
	fmt.Println(mem.Stats().Reserved <= 16<<20)
	// Output: true
}

func ExampleAllocator_Trim() {
	mem := memory.New(nil)
	defer mem.Close()
	mem.Free(mem.Allocate(100 << 20))
	mem.Trim()
	fmt.Println(mem.Stats().Cached)
	// Output: 0
}

func ExampleAllocator_Close() {
	mem := memory.New(nil)
	b := mem.Allocate(100)
	fmt.Println(mem.Close())
	mem.Free(b)
	fmt.Println(mem.Close())
	// Output:
	// memory: close: 1 blocks (128 bytes) are allocated; of up to 2 MiB: 1 of 128 bytes
	// <nil>
}

func ExampleLookup() {
	mem := memory.New(nil)
	defer mem.Close()
	b := mem.Allocate(1000)
	whole, _ := memory.Lookup(b)
	part, ok := memory.Lookup(b[100:200])
	fmt.Println(ok, part.Offset()-whole.Offset(), part.Room())
	_, ok = memory.Lookup(make([]byte, 10))
	fmt.Println(ok)
	mem.Free(b)
	// Output:
	// true 100 924
	// false
}

func ExampleAllocator_InitBuffer() {
	mem := memory.New(nil)
	defer mem.Close()
	var column struct {
		name   string
		values arrowmemory.Buffer
	}
	if err := mem.InitBuffer(&column.values, 100); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(column.values.Len(), mem.Stats().Blocks)
	column.values.Release()
	fmt.Println(mem.Stats().Blocks)
	// Output:
	// 100 1
	// 0
}

func ExampleRef_Retain() {
	mem := memory.New(nil)
	defer mem.Close()
	b := mem.Allocate(1000)
	input, _ := memory.Lookup(b)
	if input.Retain() { // a command is recorded
		mem.Free(b) // its owner is done
		fmt.Println("parked:", mem.Stats().Parked)
		input.Release() // the command has ended
	}
	fmt.Println("parked:", mem.Stats().Parked, "stale:", !input.Retain())
	// Output:
	// parked: 1024
	// parked: 0 stale: true
}

// CheckedAllocator finds leaks in tests, over this allocator as over any.
func Example_checkedAllocator() {
	mem := memory.New(nil)
	defer mem.Close()
	checked := arrowmemory.NewCheckedAllocator(mem)
	b := array.NewStringBuilder(checked)
	b.Append("value")
	b.NewStringArray().Release()
	b.Release()
	fmt.Println(checked.CurrentAlloc())
	// Output: 0
}
