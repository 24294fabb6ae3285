package memory

import (
	"errors"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// A builder's buffers grow by doubling, 13 times for 100,000 appends. They must not be 13 device objects.
func TestBuilderGrowthTakesOneArena(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev)
	for range 3 {
		b := array.NewInt64Builder(a)
		for i := range 100_000 {
			b.Append(int64(i))
		}
		arr := b.NewInt64Array()
		require.EqualValues(t, 99_999, arr.Value(99_999))
		require.Equal(t, 1, dev.calls())
		arr.Release()
		b.Release()
	}
	require.Greater(t, a.Stats().Allocations, int64(30))
	require.Zero(t, a.Stats().Active)
	require.NoError(t, a.Close())
}

func TestSmallBlocksShareAPage(t *testing.T) {
	a := New(&fakeDevice{})
	var blocks [][]byte
	for range 128 {
		blocks = append(blocks, a.Allocate(64))
	}
	s := a.Stats()
	require.EqualValues(t, 128*lineSize, s.Active)
	require.Len(t, a.pool, 1)
	require.Equal(t, len(a.pool[0].spans)-1, a.pool[0].freePages)
	for _, b := range blocks {
		a.Free(b)
	}
	require.NoError(t, a.Close())
}

func TestLargeBlocksAreKeptForTheirClass(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev)
	b := a.Allocate(80_000_000)
	at := address(b)
	a.Free(b)
	b = a.Allocate(79_000_000)
	require.Equal(t, at, address(b))
	require.Equal(t, 1, dev.calls())
	c := a.Allocate(79_000_000)
	require.Equal(t, 2, dev.calls())
	a.Free(c)
	a.Free(b)
	small := a.Allocate(3 << 20) // another class: the cached ones would waste too much
	require.Equal(t, 3, dev.calls())
	a.Free(small)
	a.Trim()
	require.Zero(t, dev.live)
	require.EqualValues(t, 3, a.Stats().Evictions)
	require.NoError(t, a.Close())
}

// Pages of classes that are no longer asked for serve the others.
func TestPagesMoveBetweenClasses(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev)
	for _, n := range []int{1 << 20, 700 << 10, 300 << 10, 100 << 10, 20 << 10, 1000, 64, 2 << 20} {
		var blocks [][]byte
		for total := 0; total < 6<<20; total += padded(n) {
			blocks = append(blocks, a.AllocateUninitialized(n))
		}
		for _, b := range blocks {
			a.Free(b)
		}
	}
	require.Equal(t, 1, dev.calls())
	require.NoError(t, a.Close())
}

func TestSharedArenasGrow(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev)
	var blocks [][]byte
	for range 256 {
		blocks = append(blocks, a.AllocateUninitialized(1<<20))
	}
	require.Equal(t, []int{8 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20, 64 << 20, 64 << 20}, dev.allocs)
	for _, b := range blocks {
		a.Free(b)
	}
	require.NoError(t, a.Close())
}

func TestCacheLimitEvictsTheOldest(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev, WithCacheLimit(20<<20))
	sizes := []int{10 << 20, 8 << 20, 6 << 20}
	var blocks [][]byte
	for _, n := range sizes {
		blocks = append(blocks, a.AllocateUninitialized(n))
	}
	for _, b := range blocks {
		a.Free(b)
	}
	require.EqualValues(t, 14<<20, a.Stats().Cached)
	require.EqualValues(t, 1, a.Stats().Evictions)
	for i, hit := range []bool{false, true, true} {
		calls := dev.calls()
		blocks[i] = a.AllocateUninitialized(sizes[i])
		require.Equal(t, hit, calls == dev.calls(), "%d bytes", sizes[i])
	}
	for _, b := range blocks {
		a.Free(b)
	}
	require.NoError(t, a.Close())
}

func TestNoCache(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev, WithCacheLimit(0))
	a.Free(a.Allocate(3 << 20))
	require.Zero(t, dev.live)
	a.Free(a.Allocate(100))
	require.Zero(t, dev.live)
	require.NoError(t, a.Close())
}

func TestOutOfMemoryEmptiesTheCacheAndTriesOnce(t *testing.T) {
	dev := &fakeDevice{budget: 40 << 20}
	a := New(dev)
	a.Free(a.Allocate(24 << 20))
	b := a.Allocate(32 << 20)
	require.Equal(t, []int{24 << 20, 32 << 20, 32 << 20}, dev.allocs)
	require.EqualValues(t, 32<<20, dev.live)

	_, err := a.TryAllocateUninitialized(10 << 20)
	require.ErrorIs(t, err, gpu.ErrOutOfMemory)
	require.ErrorContains(t, err, "cannot allocate 10485760 bytes (active 33554432, parked 0, cached 0, limit 0)")
	require.Len(t, dev.allocs, 5)
	require.ErrorIs(t, failure(func() { a.Allocate(10 << 20) }), gpu.ErrOutOfMemory)
	require.ErrorIs(t, failure(func() { b = a.Reallocate(50<<20, b) }), gpu.ErrOutOfMemory)
	require.Len(t, b, 32<<20)

	small := a.Allocate(1000) // 8 MiB are left; the first arena fits exactly
	dev.set(func(d *fakeDevice) { d.budget = d.live })
	b = a.Reallocate(1<<20, a.Reallocate(20<<20, b))
	require.Len(t, b, 1<<20)
	a.Free(b)
	a.Free(small)
	require.NoError(t, a.Close())
}

// When the class does not fit but the request does, the block is as large as the request.
func TestTightBlocksAreExact(t *testing.T) {
	dev := &fakeDevice{budget: 70 << 20}
	a := New(dev)
	b := a.Allocate(66 << 20)
	require.Len(t, wholeOf(b), 66<<20)
	a.Free(b)
	dev.set(func(d *fakeDevice) { d.budget = 200 << 20 })
	c := a.Allocate(70 << 20) // the same class, and the cached block is too small
	require.Len(t, wholeOf(c), 80<<20)
	b = a.Allocate(65 << 20)
	require.Len(t, wholeOf(b), 66<<20)
	a.Free(b)
	a.Free(c)
	require.NoError(t, a.Close())
}

func TestMaxBufferBytes(t *testing.T) {
	dev := &fakeDevice{info: gpu.Info{Name: "small", MaxBufferBytes: 9<<20 + 5}}
	a := New(dev)
	b := a.Allocate(9 << 20)
	require.Len(t, wholeOf(b), 9<<20)
	calls := dev.calls()
	_, err := a.TryAllocateUninitialized(9<<20 + 1)
	require.ErrorIs(t, err, gpu.ErrOutOfMemory)
	require.Equal(t, calls, dev.calls(), "the device cannot have it: no call")
	a.Free(b)
	require.NoError(t, a.Close())
}

func TestLimit(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		const limit = 19<<20 + 512<<10
		a.SetLimit(limit)
		b := a.Allocate(19 << 20)
		require.Len(t, wholeOf(b), 19<<20)
		_, err := a.TryAllocateUninitialized(3 << 20)
		require.ErrorIs(t, err, gpu.ErrOutOfMemory)
		require.ErrorContains(t, err, "limit")
		small := a.Allocate(64) // a shared arena of what is left
		require.LessOrEqual(t, a.Stats().Reserved, int64(limit))
		a.Free(b)
		b = a.Allocate(3 << 20) // the cached 19 MiB give way
		require.LessOrEqual(t, a.Stats().Reserved, int64(limit))
		a.Free(b)
		a.SetLimit(2 << 20)
		require.LessOrEqual(t, a.Stats().Reserved, int64(2<<20))
		a.SetLimit(0)
		a.Free(a.Allocate(50 << 20))
		a.Free(small)
	})
}

func TestPeak(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		b, c := a.Allocate(1<<20), a.Allocate(1<<20)
		a.Free(b)
		a.Free(c)
		a.Free(a.Allocate(64))
		require.EqualValues(t, 2<<20, a.Stats().Peak)
	})
}

func TestLostDeviceLeavesPlainMemory(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev)
	before := a.Allocate(100)
	dev.set(func(d *fakeDevice) { d.fail = gpu.ErrDeviceLost })
	after := a.Allocate(5 << 20)
	ref, ok := Lookup(before)
	require.True(t, ok)
	require.NotNil(t, ref.Buffer())
	ref, ok = Lookup(after)
	require.True(t, ok)
	require.Nil(t, ref.Buffer())
	require.Nil(t, ref.Device())
	calls := dev.calls()
	a.Free(a.Allocate(7 << 20))
	require.Equal(t, calls, dev.calls(), "a lost device is not tried again")
	a.Free(before)
	a.Free(after)
	require.NoError(t, a.Close())
}

func TestDeviceErrorsPassThrough(t *testing.T) {
	dev := &fakeDevice{fail: gpu.ErrClosed}
	a := New(dev)
	_, err := a.TryAllocateUninitialized(10)
	require.ErrorIs(t, err, gpu.ErrClosed)
	odd := errors.New("odd")
	dev.set(func(d *fakeDevice) { d.fail = odd })
	require.ErrorIs(t, failure(func() { a.Allocate(3 << 20) }), odd)
	require.Equal(t, 2, dev.calls(), "only lack of memory is worth another try")
	require.Zero(t, a.Stats().Reserved)
	require.NoError(t, a.Close())
}

// Goroutines that find the pool empty at once make one arena between them.
func TestOneArenaUnderConcurrentFirstUse(t *testing.T) {
	dev := &fakeDevice{}
	a := New(dev)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() { a.Free(a.Allocate(1000)) })
	}
	wg.Wait()
	require.Equal(t, 1, dev.calls())
	require.NoError(t, a.Close())
}
