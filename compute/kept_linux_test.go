//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/gputest"
	"github.com/broadhead-go/broadhead/memory"
)

// keepOf runs one call in a batch of its own and keeps its result.
func keepOf(t testing.TB, ctx context.Context, name string, opts compute.FunctionOptions, args ...any) *compute.Column {
	t.Helper()
	b := compute.NewBatch(ctx)
	defer b.Release()
	col := b.Keep(b.Call(name, opts, args...))
	require.NoError(t, b.Run())
	return col
}

func noneLeft(t *testing.T, ctx context.Context) {
	t.Helper()
	u := useOf(t, ctx)
	require.Zero(t, u.Bytes)
	require.Zero(t, u.Columns)
	require.Zero(t, u.Kernels)
}

// What batches keep and hand on never crosses the bus, until its array is asked for, once.
func TestKeepCrossesNoBus(t *testing.T) {
	const n = 5000
	ctx, dev := newBusCard(t)
	arr := numbers(compute.GetAllocator(ctx), n)
	defer arr.Release()
	up, err := compute.ToDevice(ctx, arr)
	require.NoError(t, err)
	_, there := dev.crossed()
	require.GreaterOrEqual(t, there, int64(8*n))
	var twice, low, some, sums, total *compute.Column
	for i := range 2 { // the first time admission compares on the host
		for _, c := range []*compute.Column{twice, low, some, sums, total} {
			if c != nil {
				c.Release()
			}
		}
		dev.crossed()
		twice = keepOf(t, ctx, "add_unchecked", nil, up, arr)
		low = keepOf(t, ctx, "less", nil, twice, int64(100))
		home, there := dev.crossed()
		some = keepOf(t, ctx, "filter", nil, twice, low)
		count, _ := dev.crossed()
		sums = keepOf(t, ctx, "cumulative_sum", nil, some)
		total = keepOf(t, ctx, "sum", nil, sums)
		more, _ := dev.crossed()
		if i > 0 {
			require.Zero(t, there, "bytes to the device")
			require.Zero(t, home, "bytes home")
			require.LessOrEqual(t, count, int64(16), "the number of rows alone")
			require.Zero(t, more, "bytes home")
		}
	}
	require.Equal(t, int64(4), int64(useOf(t, ctx).Columns)-2, "four columns, and two buffers that were brought")

	onCPU := compute.WithDevice(ctx, nil)
	borrow := compute.NewDatumWithoutOwning
	call := func(name string, args ...compute.Datum) compute.Datum {
		d, err := compute.CallFunction(onCPU, name, nil, args...)
		require.NoError(t, err)
		t.Cleanup(d.Release)
		return d
	}
	wantTwice := call("add_unchecked", borrow(arr), borrow(arr))
	wantLow := call("less", wantTwice, compute.NewDatum(int64(100)))
	wantSome := call("filter", wantTwice, wantLow)
	wantSums := call("cumulative_sum", wantSome)
	for _, c := range []struct {
		name string
		col  *compute.Column
		want compute.Datum
	}{{"add", twice, wantTwice}, {"less", low, wantLow}, {"filter", some, wantSome}, {"cumulative_sum", sums, wantSums}} {
		for i := range 2 {
			got, err := c.col.Array(ctx)
			require.NoError(t, err)
			require.NoError(t, equal.Datums(borrow(got), c.want), c.name)
			home, _ := dev.crossed()
			if rows := int64(got.Len()); i == 0 {
				require.GreaterOrEqual(t, home, rows/8, c.name)
				require.LessOrEqual(t, home, 9*rows, c.name)
			} else {
				require.Zero(t, home, "%s: it is home", c.name)
			}
			why, err := compute.Explain(ctx, "count", nil, borrow(got))
			require.NoError(t, err)
			if got.NullN() > 0 {
				require.Equal(t, compute.DeviceMemory, why.Place, "the device has it still")
			}
			got.Release()
		}
	}
	require.NoError(t, equal.Datums(mustColumn(t, ctx, total), call("sum", wantSums)))
	for _, c := range []*compute.Column{up, twice, low, some, sums, total} {
		c.Release()
	}
	noneLeft(t, ctx)
}

// mustColumn is a column's value as the scalar that it is, or its array.
func mustColumn(t *testing.T, ctx context.Context, c *compute.Column) compute.Datum {
	b := compute.NewBatch(ctx)
	defer b.Release()
	v := b.Call("add_unchecked", nil, c, int64(0))
	require.NoError(t, b.Run())
	d, err := v.Datum()
	require.NoError(t, err)
	t.Cleanup(d.Release)
	return d
}

// Kept results of every shape serve as every kind of argument, with the CPU's answers.
func TestKeepShapes(t *testing.T) {
	ctx, _ := newBusCard(t)
	mem := compute.GetAllocator(ctx)
	ints := numbers(mem, 300)
	defer ints.Release()
	empty := array.NewSlice(ints, 5, 5)
	defer empty.Release()
	chunks := arrow.NewChunked(ints.DataType(), []arrow.Array{ints, empty, ints})
	defer chunks.Release()
	db := array.NewDictionaryBuilder(mem, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})
	defer db.Release()
	for i := range 300 {
		require.NoError(t, db.(*array.BinaryDictionaryBuilder).AppendString(string(rune('a'+i%3))))
	}
	words := db.NewArray()
	defer words.Release()
	even := array.NewBooleanBuilder(mem)
	defer even.Release()
	for i := range 300 {
		even.Append(i%2 == 0)
	}
	mask := even.NewArray()
	defer mask.Release()
	few := array.NewInt32Builder(mem)
	defer few.Release()
	few.AppendValues([]int32{7, 3, 3, 0, 149}, nil)
	rows := few.NewArray()
	defer rows.Release()

	to := compute.SafeCastOptions(arrow.PrimitiveTypes.Float64)
	for _, c := range []struct {
		name string
		keep func(b *compute.Batch) *compute.Value
		then func(b *compute.Batch, kept any) *compute.Value
	}{
		{"nulls", func(b *compute.Batch) *compute.Value { return b.Call("negate", nil, ints) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("min_max", nil, k) }},
		{"empty", func(b *compute.Batch) *compute.Value { return b.Call("negate", nil, empty) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("add", nil, k, k) }},
		{"chunks", func(b *compute.Batch) *compute.Value { return b.Call("negate", nil, chunks) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("add", nil, k, chunks) }},
		{"take of chunks", func(b *compute.Batch) *compute.Value { return b.Call("negate", nil, chunks) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("take", nil, k, rows) }},
		{"mask", func(b *compute.Batch) *compute.Value { return b.Call("not", nil, mask) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("filter", nil, ints, k) }},
		{"filtered", func(b *compute.Batch) *compute.Value { return b.Call("filter", nil, ints, mask) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("take", nil, k, rows) }},
		{"indices", func(b *compute.Batch) *compute.Value { return b.Call("add", nil, rows, int32(1)) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("take", nil, ints, k) }},
		{"dictionary", func(b *compute.Batch) *compute.Value { return b.Call("filter", nil, words, mask) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("take", nil, k, rows) }},
		{"dictionary compared", func(b *compute.Batch) *compute.Value { return b.Call("filter", nil, words, mask) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("equal", nil, k, "a") }},
		{"no kernel", func(b *compute.Batch) *compute.Value { return b.Call("negate", nil, ints) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("unique", nil, k) }},
		{"cast", func(b *compute.Batch) *compute.Value { return b.Call("cast", to, ints) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("sum", nil, k) }},
		{"mixed types", func(b *compute.Batch) *compute.Value { return b.Call("negate", nil, ints) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("add", nil, k, 1.5) }},
		{"validity", func(b *compute.Batch) *compute.Value { return b.Call("negate", nil, ints) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("is_null", nil, k) }},
		{"scalar", func(b *compute.Batch) *compute.Value { return b.Call("sum", nil, ints) },
			func(b *compute.Batch, k any) *compute.Value { return b.Call("add", nil, ints, k) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(ctx context.Context) (first, second compute.Datum) {
				one := compute.NewBatch(ctx)
				v := c.keep(one)
				col := one.Keep(v)
				defer col.Release()
				require.NoError(t, one.Run())
				two := compute.NewBatch(ctx)
				defer two.Release()
				w := c.then(two, col)
				require.NoError(t, two.Run())
				second, err := w.Datum()
				require.NoError(t, err)
				first, err = v.Datum()
				require.NoError(t, err)
				one.Release()
				return first, second
			}
			first, second := run(ctx)
			defer first.Release()
			defer second.Release()
			wantFirst, wantSecond := run(compute.WithDevice(ctx, nil))
			defer wantFirst.Release()
			defer wantSecond.Release()
			require.NoError(t, equal.Datums(first, wantFirst))
			require.NoError(t, equal.Datums(second, wantSecond))
			noneLeft(t, ctx)
		})
	}
}

// In whatever order batches and columns are released, nothing is left behind, on the host or the device, and what is held
// still works.
func TestKeepReleaseOrders(t *testing.T) {
	ctx, _ := newBusCard(t)
	arr := numbers(compute.GetAllocator(ctx), 1000)
	defer arr.Release()
	want, err := compute.SumArray(compute.WithDevice(ctx, nil), nil, arr)
	require.NoError(t, err)
	var orders []string
	var permute func(done, left string)
	permute = func(done, left string) {
		if left == "" {
			orders = append(orders, done)
		}
		for i := range left {
			permute(done+left[i:i+1], left[:i]+left[i+1:])
		}
	}
	// first and second batch and column released, second batch run, array taken, datum taken
	permute("", "fcsrad")
	run := 0
	for _, order := range orders {
		checked := arrowmem.NewCheckedAllocator(compute.GetAllocator(ctx))
		ctx := compute.WithAllocator(ctx, checked)
		first := compute.NewBatch(ctx)
		v := first.Call("negate", nil, first.Call("negate", nil, arr))
		col := first.Keep(v)
		require.NoError(t, first.Run())
		second := compute.NewBatch(ctx)
		total := second.Call("sum", nil, col)
		at := func(step string) int { return strings.Index(order, step) }
		for _, step := range order {
			switch step {
			case 'f':
				first.Release()
			case 'c':
				col.Release()
			case 's':
				second.Release()
			case 'r':
				err := second.Run()
				if at("s") < at("r") {
					require.ErrorIs(t, err, arrow.ErrInvalid, order)
					continue
				}
				require.NoError(t, err, order)
				d, err := total.Datum()
				require.NoError(t, err, order)
				require.Equal(t, want.String(), d.(*compute.ScalarDatum).Value.String(), order)
				d.Release()
				run++
			case 'a':
				got, err := col.Array(ctx)
				if at("c") < at("a") {
					require.ErrorIs(t, err, arrow.ErrInvalid, order)
					continue
				}
				require.NoError(t, err, order)
				require.NoError(t, equal.Arrays(got, arr), order)
				got.Release()
			case 'd':
				d, err := v.Datum()
				if at("f") < at("d") {
					require.ErrorIs(t, err, arrow.ErrInvalid, order)
					continue
				}
				require.NoError(t, err, order)
				d.Release()
			}
		}
		checked.AssertSize(t, 0)
		noneLeft(t, ctx)
	}
	require.Equal(t, len(orders)/2, run)

	// A column that nobody releases goes when nobody can reach it.
	func() { keepOf(t, ctx, "negate", nil, arr) }()
	require.Eventually(t, func() bool { runtime.GC(); return useOf(t, ctx).Bytes == 0 }, 20*time.Second, 10*time.Millisecond)
	noneLeft(t, ctx)
}

// Kept columns go home when others need their place: for the budget's sake or because the card is full. None is lost.
func TestKeepGivesWay(t *testing.T) {
	const n, columns = 10_000, 6 // 128 KiB on the card each
	for name, squeeze := range map[string]func(ctx context.Context, d *busCard){
		"budget": func(ctx context.Context, d *busCard) { require.NoError(t, compute.SetDeviceBudget(ctx, 300<<10)) },
		"memory": func(ctx context.Context, d *busCard) { d.limit.Store(900 << 10) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, dev := newBusCard(t)
			arr := counting(compute.GetAllocator(ctx), n)
			defer arr.Release()
			keepOf(t, ctx, "add_unchecked", nil, arr, int64(0)).Release() // admission
			squeeze(ctx, dev)
			var cols []*compute.Column
			for i := range columns {
				cols = append(cols, keepOf(t, ctx, "add_unchecked", nil, arr, int64(i)))
			}
			u := useOf(t, ctx)
			require.Positive(t, u.Evicted)
			require.Positive(t, u.Columns, "some stay")
			require.LessOrEqual(t, u.Bytes, u.Budget)
			check := func() {
				for i, c := range cols {
					b := compute.NewBatch(ctx)
					diff := b.Call("sum", nil, b.Call("subtract_unchecked", nil, c, arr))
					require.NoError(t, b.Run())
					d, err := diff.Datum()
					require.NoError(t, err)
					require.Equal(t, fmt.Sprint(i*(n-arr.NullN())), d.(*compute.ScalarDatum).Value.String())
					d.Release()
					b.Release()
				}
			}
			check()
			require.NoError(t, compute.SetDeviceBudget(ctx, 0))
			require.Zero(t, useOf(t, ctx).Bytes)
			check()
			last := keepOf(t, ctx, "negate", nil, arr) // there is no room: it goes home at once
			require.Zero(t, useOf(t, ctx).Bytes)
			got, err := last.Array(ctx)
			require.NoError(t, err)
			require.Equal(t, n, got.Len())
			got.Release()
			last.Release()
			for _, c := range cols {
				c.Release()
			}
			noneLeft(t, ctx)
		})
	}
}

func TestKeepUnderPressure(t *testing.T) {
	ctx, _ := newBusCard(t)
	checkKeepUnderPressure(t, ctx)
}

func TestKeepUnderPressureOnCUDA(t *testing.T) {
	if dev := cudaDevice(t); dev != nil {
		ctx := onDevice(t, dev)
		old := useOf(t, ctx).Budget
		checkKeepUnderPressure(t, ctx)
		require.NoError(t, compute.SetDeviceBudget(ctx, old))
	}
}

// checkKeepUnderPressure has many goroutines keep, read, compute with and release columns of a card that has room for few
// of them.
func checkKeepUnderPressure(t *testing.T, ctx context.Context) {
	const n = 3000 // 64 KiB on the card
	mem := compute.GetAllocator(ctx).(*memory.Allocator)
	arr := counting(mem, n).(*array.Int64)
	defer arr.Release()
	require.NoError(t, compute.SetDeviceBudget(ctx, 5<<16))
	var shared []*compute.Column
	for i := range 4 {
		shared = append(shared, keepOf(t, ctx, "add_unchecked", nil, arr, int64(i)))
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 12 {
				k := (g + i) % len(shared)
				b := compute.NewBatch(ctx)
				sum := b.Call("add_unchecked", nil, shared[k], shared[(k+1)%len(shared)])
				col := b.Keep(sum)
				err := b.Run()
				if i%3 == 0 {
					b.Release()
				}
				var got arrow.Array
				if err == nil {
					if i%2 == 0 {
						got, err = shared[k].Array(ctx)
					} else {
						got, err = col.Array(ctx)
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
				for row := range n {
					first, v := arr.Value(row), got.(*array.Int64).Value(row)
					want := first + int64(k)
					if i%2 != 0 {
						want = 2*first + int64(k) + int64((k+1)%len(shared))
					}
					if v != want {
						t.Errorf("row %d is %d, want %d", row, v, want)
						break
					}
				}
				got.Release()
				col.Release()
				b.Release()
				if u, err := compute.DeviceUseOf(ctx); err != nil || u.Bytes > u.Budget {
					t.Errorf("%+v, %v", u, err)
				}
			}
		})
	}
	all.Wait()
	require.Positive(t, useOf(t, ctx).Evicted)
	for _, c := range shared {
		c.Release()
	}
	noneLeft(t, ctx)
}

// What only a lost device had is lost, and says so; what came home before is there.
func TestKeepLoss(t *testing.T) {
	dev, err := gpu.Open("emulator")
	require.NoError(t, err)
	faulty := gputest.Fault(dev)
	ctx := onDevice(t, &card{faulty})
	arr := numbers(compute.GetAllocator(ctx), 1000)
	defer arr.Release()
	home, away := keepOf(t, ctx, "negate", nil, arr), keepOf(t, ctx, "negate", nil, arr)
	got, err := home.Array(ctx)
	require.NoError(t, err)
	got.Release()
	faulty.Lose(1)
	_, err = away.Array(ctx)
	require.ErrorIs(t, err, gpu.ErrDeviceLost)
	require.ErrorContains(t, err, "a column that only emulator has")
	for _, c := range []*compute.Column{home, away} {
		b := compute.NewBatch(ctx)
		sum := b.Call("sum", nil, c)
		err := b.Run()
		if c == away {
			require.ErrorIs(t, err, gpu.ErrDeviceLost)
			require.ErrorContains(t, err, "sum")
		} else {
			require.NoError(t, err)
			d, err := sum.Datum()
			require.NoError(t, err)
			d.Release()
		}
		b.Release()
	}
	got, err = home.Array(ctx)
	require.NoError(t, err)
	got.Release()
	require.NoError(t, compute.SetDeviceBudget(ctx, 0)) // what cannot go home stays where it is
	home.Release()
	away.Release()
	noneLeft(t, ctx)
}
