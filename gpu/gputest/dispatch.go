package gputest

import (
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

var dispatchChecks = []check{
	{"Shapes", checkShapes},
	{"FoldedGroups", checkFoldedGroups},
	{"SparseArguments", checkSparseArguments},
	{"BadRecordings", checkBadRecordings},
	{"Barriers", checkBarriers},
	{"CopyAndDispatch", checkCopyAndDispatch},
	{"Copies", checkCopies},
	{"Empty", checkEmpty},
	{"Discard", checkDiscard},
}

func checkShapes(b *bench) {
	p := b.compile("fill")
	for _, threads := range []int{32, 64, 128, 256, 512, 1024} {
		if threads > p.MaxThreads() {
			continue // a device may allow fewer; 256 it must
		}
		for _, n := range []int{1, 31, 32, 33, threads, threads + 1, 5*threads - 1} {
			out, got := alloc[uint32](b, n)
			b.run(p, n, threads, out)
			for i, v := range got {
				require.EqualValues(b, i+1, v, "%d elements, %d threads", n, threads)
			}
		}
	}
}

func checkFoldedGroups(b *bench) {
	p := b.compile("groups")
	for _, n := range []int{65536, 65537, 131072 + 1} {
		out, got := alloc[uint32](b, n)
		c := b.dev.Commands()
		c.Dispatch(p, n, 32, args(value(n, 32), out))
		b.finish(c)
		for i, v := range got {
			require.Equal(b, uint32(i)^0x5a5a5a5a, v, "group %d of %d", i, n)
		}
	}
}

func checkSparseArguments(b *bench) {
	const n = 100
	in, _ := input(b, n, func(i int) uint32 { return uint32(i) })
	out, got := alloc[uint32](b, n)
	c := b.dev.Commands()
	c.Dispatch(b.compile("sparse_args"), 1, 128, []gpu.Arg{{Buf: out}, {}, {}, {Buf: in}, {}, value(n, 128)})
	b.finish(c)
	for i, v := range got {
		require.EqualValues(b, 3*i, v)
	}
}

// checkBadRecordings makes mistakes that Commit must report, and sees that what was retained is released.
func checkBadRecordings(b *bench) {
	fill := b.compile("fill")
	out, _ := alloc[uint32](b, 64)
	ok := value(64, 32)
	for _, bad := range []struct {
		name   string
		record func(c gpu.Commands)
	}{
		{"no pipeline", func(c gpu.Commands) { c.Dispatch(nil, 1, 32, args(ok, out)) }},
		{"no threads", func(c gpu.Commands) { c.Dispatch(fill, 1, 0, args(ok, out)) }},
		{"too many threads", func(c gpu.Commands) { c.Dispatch(fill, 1, fill.MaxThreads()+1, args(ok, out)) }},
		{"negative groups", func(c gpu.Commands) { c.Dispatch(fill, -1, 32, args(ok, out)) }},
		{"offset at the end", func(c gpu.Commands) { c.Dispatch(fill, 1, 32, []gpu.Arg{{Buf: out, Off: 256}, ok}) }},
		{"negative offset", func(c gpu.Commands) { c.Dispatch(fill, 1, 32, []gpu.Arg{{Buf: out, Off: -4}, ok}) }},
		{"bytes too long", func(c gpu.Commands) { c.Dispatch(fill, 1, 32, []gpu.Arg{{Buf: out}, {Bytes: make([]byte, 4097)}}) }},
		{"copy past the end", func(c gpu.Commands) { c.Copy(out, 128, out, 0, 129) }},
		{"copy overlaps", func(c gpu.Commands) { c.Copy(out, 4, out, 0, 8) }},
		{"copy of a negative length", func(c gpu.Commands) { c.Copy(out, 0, out, 64, -1) }},
		{"copy without a source", func(c gpu.Commands) { c.Copy(out, 0, nil, 0, 4) }},
	} {
		c := b.dev.Commands()
		released := 0
		c.Retain(out, func() { released++ })
		c.Dispatch(fill, 2, 32, args(ok, out))
		bad.record(c)
		c.Dispatch(fill, 2, 32, args(ok, out))
		e, err := c.Commit()
		require.Error(b, err, bad.name)
		require.Nil(b, e, bad.name)
		require.Equal(b, 1, released, bad.name)
	}
	b.run(fill, 64, 32, out)
}

// checkBarriers runs chains of commands that depend on each other.
func checkBarriers(b *bench) {
	const n, steps = 1000, 9
	fill, reverse := b.compile("fill"), b.compile("reverse")
	ping, _ := alloc[uint32](b, n)
	pong, _ := alloc[uint32](b, n)
	c := b.dev.Commands()
	c.Dispatch(fill, 4, 256, args(value(n, 256), ping))
	for range steps {
		c.Barrier()
		c.Barrier() // twice is as good as once
		c.Dispatch(reverse, 4, 256, args(value(n, 256), ping, pong))
		ping, pong = pong, ping
	}
	c.Barrier()
	b.finish(c)
	for i, v := range view[uint32](ping.Host()) {
		require.EqualValues(b, n-1-i+1+steps, v) // an odd number of reversals
	}
}

// checkCopyAndDispatch lets copies and dispatches depend on each other in every order.
func checkCopyAndDispatch(b *bench) {
	const n, size = 500, 4 * 500
	fill, reverse := b.compile("fill"), b.compile("reverse")
	x, _ := alloc[uint32](b, n)
	y, _ := alloc[uint32](b, n)
	z, _ := alloc[uint32](b, n)
	other, otherGot := alloc[uint32](b, n)
	c := b.dev.Commands()
	c.Dispatch(fill, 2, 256, args(value(n, 256), x))
	c.Barrier()
	c.Copy(y, 0, x, 0, size) // dispatch, copy
	c.Barrier()
	c.Copy(z, 0, y, 0, size/2)                           // copy, copy
	c.Copy(z, size/2, y, size/2, size/2)                 // beside it
	c.Dispatch(fill, 2, 256, args(value(n, 256), other)) // beside both
	c.Barrier()
	c.Dispatch(reverse, 2, 256, args(value(n, 256), z, x)) // copy, dispatch
	c.Barrier()
	c.Copy(z, 0, x, 0, size) // dispatch, copy: over what the dispatch read
	b.finish(c)
	for i, v := range view[uint32](z.Host()) {
		require.EqualValues(b, n-i+1, v)
		require.EqualValues(b, i+1, otherGot[i])
	}
}

// checkCopies copies ranges of all alignments, within a buffer and between two.
func checkCopies(b *bench) {
	const n = 20000
	in, a := input(b, n, func(i int) byte { return byte(scattered(i) >> 24) })
	for _, row := range []struct{ dstOff, srcOff, n int }{
		{0, 0, n}, {0, 4, 16}, {4, 8, 12}, {1, 0, 1}, {0, 3, 4}, {3, 1, 2}, {5, 7, 4097}, {1, 2, n - 2}, {n - 1, n - 1, 1}, {8, 8, 7},
	} {
		out, got := alloc[byte](b, n)
		c := b.dev.Commands()
		c.Copy(out, row.dstOff, in, row.srcOff, row.n)
		b.finish(c)
		for i, v := range got {
			want := byte(0xA5)
			if i >= row.dstOff && i < row.dstOff+row.n {
				want = a[i-row.dstOff+row.srcOff]
			}
			require.Equal(b, want, v, "byte %d of %+v", i, row)
		}
	}
	c := b.dev.Commands()
	c.Copy(in, 10001, in, 1, 9998) // neighbours, not the same bytes
	b.finish(c)
	require.Equal(b, a[1:9999], a[10001:19999])
}

func checkEmpty(b *bench) {
	p := b.compile("fill")
	out, got := alloc[uint32](b, 8)
	released := false
	c := b.dev.Commands()
	c.Retain(nil, nil)
	c.Retain(out, func() { released = true })
	c.Barrier()
	c.Dispatch(p, 0, 32, args(value(8, 32), out))
	c.Copy(out, 0, out, 16, 0)
	e := b.commit(c)
	require.NoError(b, b.wait(e))
	require.True(b, e.Done())
	require.True(b, released)
	require.EqualValues(b, 0xA5A5A5A5, got[0])
}

func checkDiscard(b *bench) {
	out, got := alloc[uint32](b, 8)
	released := 0
	c := b.dev.Commands()
	c.Retain(out, func() { released++ })
	c.Dispatch(b.compile("fill"), 1, 32, args(value(8, 32), out))
	require.Zero(b, released)
	c.Discard()
	c.Discard()
	require.Equal(b, 1, released)
	_, err := c.Commit()
	require.Error(b, err, "a discarded recording cannot be committed")
	require.EqualValues(b, 0xA5A5A5A5, got[0])
	c = b.dev.Commands()
	c.Copy(out, 0, out, 16, 16)
	b.finish(c)
	c.Discard()
	_, err = c.Commit()
	require.Error(b, err, "a recording is committed once")
}
