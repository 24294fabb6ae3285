package gputest

import (
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

var memoryChecks = []check{
	{"Info", checkInfo},
	{"Alloc", checkAlloc},
	{"AllocTooMuch", checkAllocTooMuch},
	{"Private", checkPrivate},
	{"Wrap", checkWrap},
	{"WrapUnaligned", checkWrapUnaligned},
	{"Offsets", checkOffsets},
	{"ReleasedInFlight", checkReleasedInFlight},
}

func checkInfo(b *bench) {
	i := b.dev.Info()
	require.NotEmpty(b, i.Driver)
	require.NotEmpty(b, i.Name)
	require.Equal(b, 32, i.SIMDWidth)
	require.GreaterOrEqual(b, i.ThreadgroupBytes, 16<<10)
	require.Positive(b, i.MemoryBytes)
	require.Positive(b, i.MaxBufferBytes)
	require.Equal(b, i, b.dev.Info())
}

func checkAlloc(b *bench) {
	for _, n := range []int{1, 2, 3, 127, 128, 129, 4095, 4096, 16384, 16385, 1<<20 + 1} {
		buf, host := alloc[byte](b, n)
		require.Equal(b, n, buf.Len())
		require.Len(b, host, n)
		require.Zero(b, uintptr(unsafe.Pointer(&host[0]))%128, "alignment of %d bytes", n)
		buf.Release()
		buf.Release()
	}
	for _, n := range []int{0, -1} {
		_, err := b.dev.Alloc(n, gpu.Shared)
		require.Error(b, err)
		require.NotErrorIs(b, err, gpu.ErrClosed)
	}
	_, err := b.dev.Alloc(1, gpu.Private+1)
	require.ErrorIs(b, err, gpu.ErrUnsupported)
}

func checkAllocTooMuch(b *bench) {
	for _, place := range []gpu.Place{gpu.Shared, gpu.Private} {
		for _, n := range []int{1 << 50, 1<<63 - 1} {
			_, err := b.dev.Alloc(n, place)
			require.ErrorIs(b, err, gpu.ErrOutOfMemory)
		}
	}
	alloc[byte](b, 1) // the device is as good as before
}

func checkPrivate(b *bench) {
	const n = 1000
	buf, err := b.dev.Alloc(4*n, gpu.Private)
	require.NoError(b, err)
	defer buf.Release()
	require.Nil(b, buf.Host())
	require.Equal(b, 4*n, buf.Len())
	out, host := alloc[uint32](b, n)
	c := b.dev.Commands()
	c.Dispatch(b.compile("fill"), 4, 256, args(value(n, 256), buf))
	c.Barrier()
	c.Copy(out, 0, buf, 0, 4*n)
	b.finish(c)
	for i, v := range host {
		require.EqualValues(b, i+1, v)
	}
}

func checkWrap(b *bench) {
	page := b.dev.Info().PageSize
	if page == 0 {
		_, err := b.dev.Wrap(make([]byte, 1<<16))
		require.ErrorIs(b, err, gpu.ErrUnsupported)
		return
	}
	owner, _ := alloc[byte](b, 4*page) // page-aligned memory that does not move
	host := pages(owner.Host(), page)[:2*page]
	in, err := b.dev.Wrap(host)
	require.NoError(b, err)
	require.Equal(b, 2*page, in.Len())
	require.Equal(b, &host[0], &in.Host()[0])
	n := len(host) / 4
	b.run(b.compile("fill"), n, 256, in)
	for i, v := range view[uint32](host) {
		require.EqualValues(b, i+1, v)
	}
	view[uint32](host)[7] = 1000 // what the host writes, the device reads
	out, got := alloc[uint32](b, n)
	b.run(b.compile("reverse"), n, 256, in, out)
	require.EqualValues(b, 1001, got[n-1-7])
	in.Release()
	require.EqualValues(b, 1000, view[uint32](host)[7], "the memory stays the caller's")
}

// pages is the part of mem that starts on a page.
func pages(mem []byte, page int) []byte {
	from := -int(uintptr(unsafe.Pointer(&mem[0]))) & (page - 1)
	return mem[from:]
}

func checkWrapUnaligned(b *bench) {
	page := b.dev.Info().PageSize
	if page == 0 {
		return // checkWrap has seen that it is not supported
	}
	owner, _ := alloc[byte](b, 4*page)
	host := pages(owner.Host(), page)
	for _, bad := range [][]byte{host[128 : 128+page], host[:page-1], host[:1], host[:0], nil} {
		_, err := b.dev.Wrap(bad)
		require.ErrorIs(b, err, gpu.ErrUnaligned, "%d bytes", len(bad))
	}
}

// checkOffsets binds parts of buffers and copies between them.
func checkOffsets(b *bench) {
	const n = 100
	in, a := input(b, 3*n, func(i int) uint32 { return uint32(i) })
	out, got := alloc[uint32](b, 3*n)
	c := b.dev.Commands()
	c.Dispatch(b.compile("add"), 1, 128, []gpu.Arg{{Buf: in, Off: 128}, {Buf: in, Off: 256}, {Buf: out, Off: 512}, value(n, 128)})
	c.Copy(out, 4, in, 8, 3*4) // not the part the kernel writes
	b.finish(c)
	for i, v := range got {
		want := uint32(0xA5A5A5A5)
		switch {
		case i >= 1 && i < 4:
			want = a[i+1]
		case i >= 128 && i < 128+n:
			want = a[32+i-128] + a[64+i-128]
		}
		require.Equal(b, want, v, "element %d", i)
	}
}

// checkReleasedInFlight releases everything right after the commit.
func checkReleasedInFlight(b *bench) {
	const n = 256
	p, err := b.dev.Compile(source("slow"))
	require.NoError(b, err)
	scratch, err := b.dev.Alloc(4*n, gpu.Shared)
	require.NoError(b, err)
	out, got := alloc[uint32](b, n)
	c := b.dev.Commands()
	c.Dispatch(p, 1, n, args(value(2000, n), scratch))
	c.Barrier()
	c.Copy(out, 0, scratch, 0, 4*n)
	owner := "an owner"
	released := make(chan string, 1)
	c.Retain(owner, func() { released <- owner })
	e := b.commit(c)
	scratch.Release()
	p.Release()
	require.NoError(b, b.wait(e))
	require.Equal(b, owner, <-released)
	for i, v := range got {
		x := uint32(i)
		for range 2000 {
			x = x*1664525 + 1013904223
		}
		require.Equal(b, x, v)
	}
	c = b.dev.Commands()
	c.Copy(out, 0, scratch, 0, 4)
	_, err = c.Commit()
	require.ErrorIs(b, err, gpu.ErrClosed, "a buffer cannot be named after Release")
}
