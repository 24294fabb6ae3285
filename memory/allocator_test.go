package memory

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// each runs a test on plain memory and on a device.
func each(t *testing.T, f func(t *testing.T, a *Allocator)) {
	for _, dev := range []gpu.Device{nil, &fakeDevice{}} {
		name := "device"
		if dev == nil {
			name = "plain"
		}
		t.Run(name, func(t *testing.T) {
			a := New(dev)
			f(t, a)
			require.NoError(t, a.Close())
			if d, ok := dev.(*fakeDevice); ok {
				require.Zero(t, d.live, "device memory after Close")
			}
		})
	}
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// wholeOf is the whole block that starts where b does.
func wholeOf(b []byte) []byte {
	ref, _ := Lookup(b)
	return unsafe.Slice(unsafe.SliceData(b), ref.Room())
}

// failure returns the error that f panics with.
func failure(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = r.(error)
		}
	}()
	f()
	return nil
}

func TestClasses(t *testing.T) {
	last := 0
	for c := range numClasses - 8 {
		size := classSize(c)
		require.Greater(t, size, last, "class %d", c)
		require.Zero(t, size%lineSize, "class %d", c)
		require.Equal(t, c, classOf(size), "a class's size is its own")
		require.Equal(t, c, classOf(last+1), "from one more than the class below")
		if last >= 4*lineSize {
			require.LessOrEqual(t, float64(size), 1.25*float64(last+1), "class %d", c)
		}
		last = size
	}
	require.Less(t, classOf(maxBlock), numClasses)
	for c, pages := range slabPages {
		used := pages * pageSize / classSize(c) * classSize(c)
		require.GreaterOrEqual(t, used*16, pages*pageSize*15, "class %d wastes more than a sixteenth", c)
		require.LessOrEqual(t, pages*pageSize, poolMin)
	}
}

func TestAllocate(t *testing.T) {
	sizes := []int{1, 63, 64, 127, 128, 129, 500, 513, 1024, 5000, 16384, 16385, 65535, 65536, 70000, 100_000,
		1 << 20, 2 << 20, 2<<20 + 1, 5 << 20, 9_000_001}
	each(t, func(t *testing.T, a *Allocator) {
		for round := range 2 {
			for _, n := range sizes {
				b := a.Allocate(n)
				require.Len(t, b, n)
				require.Zero(t, address(b)%lineSize, "%d bytes: start", n)
				require.Equal(t, n, cap(b))
				whole := wholeOf(b)
				require.Zero(t, (address(b)+uintptr(len(whole)))%lineSize, "%d bytes: end", n)
				require.LessOrEqual(t, float64(len(whole)), 1.25*float64(n)+127, "%d bytes: waste", n)
				if n >= 64<<10 {
					ref, ok := Lookup(b)
					require.True(t, ok)
					require.Zero(t, ref.Offset()%pageSize, "%d bytes: page", n)
				}
				all := whole[:padded(n)]
				require.Equal(t, make([]byte, len(all)), all, "%d bytes are not zero in round %d", n, round)
				all = whole
				for i := range all {
					all[i] = 0xFF
				}
				a.Free(b)
			}
		}
		s := a.Stats()
		require.Zero(t, s.Active)
		require.Zero(t, s.BadFrees)
		require.Equal(t, s.Reserved, s.Cached)
		require.EqualValues(t, 2*len(sizes), s.Allocations)
	})
}

func TestAllocateNothing(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		for _, b := range [][]byte{a.Allocate(0), a.AllocateUninitialized(0), a.Reallocate(0, nil)} {
			require.NotNil(t, b)
			require.Empty(t, b)
			_, ok := Lookup(b)
			require.False(t, ok)
			a.Free(b)
		}
		a.Free(nil)
		require.Zero(t, a.Stats().ArenaAllocations)
		require.Zero(t, a.Stats().BadFrees)
		b := a.Reallocate(10, a.Allocate(0))
		require.Equal(t, make([]byte, 10), b)
		a.Free(b)
	})
}

func TestAllocateBadSize(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		b := a.Allocate(100)
		require.Error(t, failure(func() { a.Allocate(-1) }))
		require.Error(t, failure(func() { a.Reallocate(-1, b) }))
		for _, n := range []int{-1, math.MinInt} {
			_, err := a.TryAllocateUninitialized(n)
			require.Error(t, err)
			require.NotErrorIs(t, err, gpu.ErrOutOfMemory)
			_, err = a.NewBuffer(n)
			require.Error(t, err)
		}
		for _, n := range []int{math.MaxInt, math.MaxInt - 63, math.MaxInt / 2, maxBlock + 1} {
			require.ErrorIs(t, failure(func() { a.Allocate(n) }), gpu.ErrOutOfMemory)
			require.ErrorIs(t, failure(func() { a.Reallocate(n, b) }), gpu.ErrOutOfMemory)
			_, err := a.NewBuffer(n)
			require.ErrorIs(t, err, gpu.ErrOutOfMemory)
		}
		a.Free(b)
	})
}

func TestReallocate(t *testing.T) {
	rows := []struct {
		from, to int
		moves    bool
	}{
		{1, 2, false}, {64, 128, false}, {128, 129, true}, {100, 100, false}, {256, 512, true},
		{1 << 20, 800_000, false}, {1 << 20, 100, true}, {640, 321, false}, {640, 320, true}, {512, 513, true},
		{800_000, 900_000, false}, {800_000, 920_000, true}, {70_000, 80_000, false}, {3 << 20, 20 << 20, true}, {20 << 20, 11 << 20, false},
		{20 << 20, 64, true},
	}
	each(t, func(t *testing.T, a *Allocator) {
		for _, r := range rows {
			t.Run(fmt.Sprintf("%d-%d", r.from, r.to), func(t *testing.T) {
				dirt := a.Allocate(max(r.from, r.to)) // so that what is reused is not zero
				for i := range dirt {
					dirt[i] = 0xEE
				}
				a.Free(dirt)
				b := a.Allocate(r.from)
				for i := range b {
					b[i] = byte(i*7 + 1)
				}
				want := append(bytes.Clone(b), make([]byte, max(0, r.to-r.from))...)[:r.to]
				if whole := wholeOf(b); len(whole) > r.from {
					whole[len(whole)-1] = 0xDD // what callers write beyond their length is not theirs
				}
				out := a.Reallocate(r.to, b)
				require.True(t, bytes.Equal(want, out))
				require.Equal(t, r.moves, address(b) != address(out), "moved")
				require.Equal(t, r.moves, !a.Owns(b), "the old block is free")
				a.Free(out)
				require.Zero(t, a.Stats().Active)
			})
		}
		require.Zero(t, a.Stats().BadFrees)
	})
}

func TestReallocateToNothing(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		b := a.Reallocate(0, a.Allocate(1000))
		require.Empty(t, b)
		require.Zero(t, a.Stats().Active)
		a.Free(b)
		require.Zero(t, a.Stats().BadFrees)
	})
}

func TestFreeKnowsTheBlockByItsStart(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		for _, cut := range []func([]byte) []byte{
			func(b []byte) []byte { return b[:800_000] },
			func(b []byte) []byte { return b[:0] },
			func(b []byte) []byte { return b[:1:1] },
			wholeOf,
		} {
			a.Free(cut(a.Allocate(1 << 20)))
			require.Zero(t, a.Stats().Active)
		}
	})
}

func TestFreeOfWhatIsNoBlock(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		other := New(nil)
		foreign := other.Allocate(100)
		b, twice := a.Allocate(1000), a.Allocate(100)
		a.Free(twice)
		for i, bad := range [][]byte{twice, b[1:], make([]byte, 100), foreign} {
			err := failure(func() { a.Free(bad) })
			require.Equal(t, poisoned, err != nil, "case %d", i)
			require.EqualValues(t, i+1, a.Stats().BadFrees)
		}
		require.EqualValues(t, 1, a.Stats().Blocks)
		if !poisoned {
			out := a.Reallocate(4, []byte{1, 2, 3})
			require.Equal(t, []byte{1, 2, 3, 0}, out)
			a.Free(out)
		}
		a.Free(b)
		other.Free(foreign)
		require.NoError(t, other.Close())
	})
}

func TestAllocateAndFreeMakeNoGarbage(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		for _, n := range []int{64, 1000, 100_000, 1 << 20, 10 << 20} {
			b := a.Allocate(n)
			require.Zero(t, testing.AllocsPerRun(100, func() { a.Free(a.AllocateUninitialized(n)) }), "%d bytes", n)
			require.Zero(t, testing.AllocsPerRun(100, func() { Lookup(b[n/2:]) }), "%d bytes", n)
			a.Free(b)
		}
	})
}

func TestClose(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev)
	small, large := a.Allocate(100), a.Allocate(5<<20)
	ref, _ := Lookup(small)
	require.True(t, ref.Retain())
	a.Free(small)
	err := a.Close()
	require.EqualError(t, err, "memory: close: 1 blocks (5242880 bytes) are allocated and 1 (128 bytes) retained by "+
		"commands; of up to 2 MiB: 1 of 128 bytes")
	a.Free(a.Allocate(100))
	a.Free(large)
	ref.Release()
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	require.Zero(t, dev.live)
	require.ErrorIs(t, failure(func() { a.Allocate(100) }), gpu.ErrClosed)
	_, err = a.TryAllocateUninitialized(5 << 20)
	require.ErrorIs(t, err, gpu.ErrClosed)
	require.False(t, errors.Is(err, gpu.ErrOutOfMemory))
	require.False(t, ref.Retain())
	require.Nil(t, ref.Buffer())
}
