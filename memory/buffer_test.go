package memory

import (
	"runtime"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// collected runs the garbage collector until ok holds.
func collected(t *testing.T, ok func() bool) {
	t.Helper()
	require.Eventually(t, func() bool { runtime.GC(); return ok() }, 10*time.Second, time.Millisecond)
}

func TestNewBuffer(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		for _, n := range []int{1, 63, 64, 65, 100_000, 3 << 20} {
			buf, err := a.NewBuffer(n)
			require.NoError(t, err)
			require.Equal(t, n, buf.Len())
			require.Equal(t, roundUp(n, 64), len(buf.Buf()))
			ref, ok := Lookup(buf.Bytes())
			require.True(t, ok)
			require.GreaterOrEqual(t, ref.Room(), n)
			buf.Retain()
			buf.Release()
			require.EqualValues(t, 1, a.Stats().Blocks)
			buf.Release()
			require.Zero(t, a.Stats().Active)
		}
		require.Zero(t, a.collector.held.Load())
		require.Zero(t, a.Stats().BadFrees)
	})
}

func TestNewBufferOfNothing(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		buf, err := a.NewBuffer(0)
		require.NoError(t, err)
		require.Zero(t, buf.Len())
		require.Zero(t, a.Stats().Blocks)
		buf.Resize(100)
		require.Equal(t, make([]byte, 100), buf.Bytes())
		require.EqualValues(t, 1, a.Stats().Blocks)
		buf.Release()
		require.Zero(t, a.Stats().Blocks)
	})
}

func TestNewBufferResizes(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		buf, err := a.NewBuffer(100)
		require.NoError(t, err)
		copy(buf.Bytes(), "columns")
		for _, n := range []int{100_000, 10, 1000, 0, 50} {
			buf.Resize(n)
			require.Equal(t, n, buf.Len())
		}
		buf.Release()
		require.Zero(t, a.Stats().Active)
		require.Zero(t, a.collector.held.Load())
	})
}

// makeArray returns an array over a buffer from NewBuffer.
func makeArray(t *testing.T, a *Allocator, n int) arrow.Array {
	buf, err := a.NewBuffer(8 * n)
	require.NoError(t, err)
	for i, v := 0, arrow.Int64Traits.CastFromBytes(buf.Bytes()); i < n; i++ {
		v[i] = int64(i)
	}
	data := array.NewData(arrow.PrimitiveTypes.Int64, n, []*arrowmemory.Buffer{nil, buf}, nil, 0, 0)
	buf.Release()
	defer data.Release()
	return array.NewInt64Data(data)
}

func TestUnreachableBuffersAreFreed(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		kept := makeArray(t, a, 1000)
		for range 10 {
			makeArray(t, a, 1000) // dropped without Release
		}
		one := a.Stats().Active / 11
		collected(t, func() bool { return a.Stats().Active == one })
		require.EqualValues(t, 999, kept.(*array.Int64).Value(999))

		slice := array.NewSlice(kept, 500, 600) // keeps the buffer as well
		kept.Release()
		kept = nil
		runtime.GC()
		require.Equal(t, one, a.Stats().Active)
		require.EqualValues(t, 500, slice.(*array.Int64).Value(0))
		slice.Release()
		require.Zero(t, a.Stats().Active)
		runtime.GC()
		require.Zero(t, a.Stats().BadFrees)
	})
}

// A cleanup that comes after Release must not free what has the memory by then.
func TestReleasedBufferIsNotFreedAgain(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		var at uintptr
		func() {
			buf, err := a.NewBuffer(1000)
			require.NoError(t, err)
			at = address(buf.Bytes())
			buf.Release()
		}()
		next := a.Allocate(1000)
		require.Equal(t, at, address(next))
		for range 5 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		require.True(t, a.Owns(next))
		a.Free(next)
	})
}

func TestUnreachableResizedBuffer(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		func() {
			buf, err := a.NewBuffer(100)
			require.NoError(t, err)
			buf.Resize(10_000)
		}()
		collected(t, func() bool { return a.Stats().Active == 0 })
	})
}

func TestUnreachableRetainedBufferIsParked(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		var r Ref
		func() {
			buf, err := a.NewBuffer(1000)
			require.NoError(t, err)
			r, _ = Lookup(buf.Bytes())
			require.True(t, r.Retain())
		}()
		collected(t, func() bool { return a.Stats().Active == 0 })
		require.EqualValues(t, 1024, a.Stats().Parked)
		r.Release()
		require.Zero(t, a.Stats().Parked)
	})
}

// Buffers nobody can reach any more are no reason to be out of memory.
func TestOutOfMemoryCollectsGarbage(t *testing.T) {
	a := New(&fakeDevice{}, WithLimit(64<<20))
	for range 50 {
		makeArray(t, a, 1<<20)
	}
	kept := []arrow.Array{makeArray(t, a, 3<<20), makeArray(t, a, 3<<20)}
	_, err := a.NewBuffer(24 << 20)
	require.ErrorIs(t, err, gpu.ErrOutOfMemory)
	for _, arr := range kept {
		arr.Release()
	}
	kept = nil
	collected(t, func() bool { return a.Stats().Blocks == 0 })
	require.NoError(t, a.Close())
}

// Without a limit the allocator asks for collections itself: the Go heap is too small to cause them.
func TestHeldBytesCauseCollections(t *testing.T) {
	a := New(nil)
	a.collector.least = 24 << 20
	for range 200 {
		buf, err := a.NewBuffer(3 << 20)
		require.NoError(t, err)
		buf.Bytes()[0] = 1
	}
	require.Less(t, a.Stats().Peak, int64(200<<20))
	collected(t, func() bool { return a.Stats().Blocks == 0 })
	require.NoError(t, a.Close())
}
