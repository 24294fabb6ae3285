// Package memory allocates Arrow buffers in memory that the GPU can use, so that a column never has to be copied to
// reach it.
//
// An [Allocator] is arrow-go's memory.Allocator: builders, readers and compute functions that are given one put their
// buffers here. It takes memory from the device in arenas, one device object each, and carves blocks from them.
// [Lookup] answers, for any slice of such memory, which device object it lies in and at what offset; that is all a
// kernel needs in order to read the column where it is.
//
//	mem := memory.New(dev)                          // dev may be nil: plain memory with huge pages
//	ctx = compute.WithAllocator(ctx, mem)           // results come from here
//	rdr, err := ipc.NewReader(f, ipc.WithAllocator(mem)) // and so do the columns that are read
//
// # Ownership
//
// The memory is not on the Go heap, so the garbage collector neither moves it nor keeps it. Whoever holds the array
// (or the *memory.Buffer) owns the bytes, and the bytes are valid for exactly as long:
//
//   - A block from Allocate lives until Free. arrow-go's buffers call Free when their reference count falls to zero, so
//     the usual Retain and Release of arrays is what frees columns.
//   - A buffer from NewBuffer, which is what results are made of, is freed by Release and also when the Go object
//     becomes unreachable, because Go programs rarely release. A plain slice of its bytes does not keep it reachable:
//     keep the array while its values are being read (runtime.KeepAlive, or use the array afterwards).
//   - A block that commands use is retained by them (Ref.Retain). Free then parks it, and its bytes stay as they are
//     until the last of the commands has ended; only then can the block become another column.
//   - A [Ref] names one use of a block. After the block has gone back to the pool the Ref is stale: Retain answers
//     false. It never names the column that got the memory next.
//   - Close gives everything back and refuses to while blocks are in use.
//
// # Blocks
//
// Blocks start and end on 128-byte lines, because a GPU writes whole lines back; blocks of 64 KiB and more start on
// 16 KiB pages. Sizes are rounded up to a class, four classes for each doubling, so that a block is at most 25% larger
// than what was asked for (plus at most 127 bytes). Blocks up to 2 MiB share arenas of 8 to 64 MiB; a larger one has
// an arena of its own, which is kept after Free for the next request of its class until the cache limit evicts it,
// oldest first.
//
// Built with -tags assert, the package fills uninitialized and freed memory with 0xCB, panics when a freed block was
// written to, and panics on a Free or Release that has no block.
package memory
