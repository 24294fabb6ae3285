package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLookup(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev)
	for _, n := range []int{1, 64, 1000, 20_000, 100_000, 2 << 20, 5 << 20} {
		b := a.Allocate(n)
		base, ok := Lookup(b)
		require.True(t, ok)
		require.Same(t, dev, base.Device())
		require.GreaterOrEqual(t, base.Room(), n)
		host := base.Buffer().Host()
		require.Equal(t, address(host)+uintptr(base.Offset()), address(b))
		for _, at := range []int{0, n / 3, n - 1} {
			for _, part := range [][]byte{b[at:], b[at:at], b[at : at+1 : at+1], wholeOf(b)[at:]} {
				ref, ok := Lookup(part)
				require.True(t, ok, "%d bytes at %d", n, at)
				require.Equal(t, base.Offset()+at, ref.Offset())
				require.Equal(t, base.Room()-at, ref.Room())
				require.Equal(t, base.Gen(), ref.Gen())
				require.Same(t, base.Buffer(), ref.Buffer())
				require.True(t, a.Owns(part))
			}
		}
		a.Free(b)
		_, ok = Lookup(b)
		require.False(t, ok, "freed")
		require.False(t, a.Owns(b))
	}
	for _, b := range [][]byte{nil, {}, make([]byte, 100)} {
		_, ok := Lookup(b)
		require.False(t, ok)
	}
	require.NoError(t, a.Close())
}

func TestLookupFindsTheRightAllocator(t *testing.T) {
	var all []*Allocator
	var blocks [][]byte
	for range 20 {
		a := New(nil)
		all = append(all, a)
		blocks = append(blocks, a.Allocate(100), a.Allocate(3<<20))
	}
	for i, b := range blocks {
		for k, a := range all {
			require.Equal(t, i/2 == k, a.Owns(b))
		}
		ref, ok := Lookup(b)
		require.True(t, ok)
		require.Nil(t, ref.Buffer())
		require.Nil(t, ref.Device())
	}
	for i, b := range blocks {
		all[i/2].Free(b)
	}
	for i, a := range all {
		require.NoError(t, a.Close())
		require.False(t, a.Owns(blocks[2*i]))
	}
}

func TestStaleRef(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		for _, n := range []int{64, 100_000, 5 << 20} {
			b := a.Allocate(n)
			old, ok := Lookup(b)
			require.True(t, ok)
			a.Free(b)
			require.False(t, old.Retain(), "%d bytes: freed", n)
			again := a.Allocate(n)
			require.Equal(t, address(b), address(again), "the test needs the same memory")
			require.False(t, old.Retain(), "%d bytes: another column by now", n)
			require.Nil(t, old.Buffer())
			fresh, ok := Lookup(again)
			require.True(t, ok)
			require.NotEqual(t, old.Gen(), fresh.Gen())
			require.True(t, fresh.Retain())
			fresh.Release()
			a.Free(again)
			a.Trim() // the pages, too, may be something else
			require.False(t, fresh.Retain())
		}
		require.False(t, Ref{}.Retain())
		require.Nil(t, Ref{}.Buffer())
		require.Zero(t, Ref{}.Room())
		Ref{}.Release()
	})
}

func TestRetainedBlocksAreParked(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		for _, n := range []int{1 << 10, 1 << 20, 4 << 20} {
			size := int64(n)
			b := a.Allocate(n)
			b[n-1] = 42
			one, _ := Lookup(b)
			two, _ := Lookup(b[n/2:])
			require.True(t, one.Retain())
			require.True(t, two.Retain())
			require.EqualValues(t, size, a.Stats().Active)

			a.Free(b)
			s := a.Stats()
			require.Zero(t, s.Active)
			require.EqualValues(t, size, s.Parked)
			require.Equal(t, 1, s.ParkedBlocks)
			require.False(t, a.Owns(b), "its owner gave it up")
			a.Trim()
			require.EqualValues(t, 42, b[n-1], "commands may still read it")
			other := a.Allocate(n)
			require.NotEqual(t, address(b), address(other))

			require.True(t, one.Retain(), "its content is still the same column")
			one.Release()
			one.Release()
			require.EqualValues(t, size, a.Stats().Parked)
			two.Release()
			require.Zero(t, a.Stats().Parked)
			require.False(t, two.Retain())
			a.Free(other)
		}
		require.Zero(t, a.Stats().BadFrees)
	})
}

func TestReleaseBeforeFree(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		b := a.Allocate(100)
		r, _ := Lookup(b)
		require.True(t, r.Retain())
		r.Release()
		require.True(t, a.Owns(b))
		require.Equal(t, poisoned, failure(r.Release) != nil)
		require.EqualValues(t, 1, a.Stats().BadFrees)
		a.Free(b)
		require.Equal(t, poisoned, failure(r.Release) != nil)
		require.Zero(t, a.Stats().Active)
	})
}

// Moving a retained block by Reallocate leaves the commands what they had.
func TestReallocateOfRetained(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		b := a.Allocate(128)
		b[0] = 1
		r, _ := Lookup(b)
		require.True(t, r.Retain())
		grown := a.Reallocate(1000, b)
		grown[0] = 2
		require.EqualValues(t, 1, b[0])
		require.EqualValues(t, 128, a.Stats().Parked)
		r.Release()
		a.Free(grown)
	})
}
