package compute_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
)

// batchTests are run on every path, each under a context of its own.
var batchTests = map[string]func(t *testing.T, ctx context.Context){
	"pending lengths":   batchPendingLengths,
	"shapes":            batchShapes,
	"start":             batchStart,
	"keep":              batchKeep,
	"after release":     batchAfterRelease,
	"scalars":           batchScalars,
	"failure":           batchFailure,
	"wrong use":         batchWrongUse,
	"empty":             batchEmpty,
	"one at a time":     batchReused,
	"arguments let go":  batchArgumentsLetGo,
	"records":           batchRecords,
	"cancelled waiting": batchCancelled,
}

func runBatchTests(t *testing.T, ctx context.Context) {
	for name, f := range batchTests {
		t.Run(name, func(t *testing.T) { f(t, ctx) })
	}
}

func TestBatchOnCPU(t *testing.T) { runBatchTests(t, onCPU()) }

func mustDatum(t *testing.T, v *compute.Value) compute.Datum {
	t.Helper()
	d, err := v.Datum()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// wantSame compares a result with the same call made eagerly on the CPU, and gives that back.
func wantSame(t *testing.T, v *compute.Value, name string, args ...compute.Datum) compute.Datum {
	t.Helper()
	want, err := compute.CallFunction(onCPU(), name, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(want.Release)
	got := mustDatum(t, v)
	defer got.Release()
	if err := equal.Datums(got, want); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return want
}

// Each filter makes a length that only the device knows; later calls work with it.
func batchPendingLengths(t *testing.T, ctx context.Context) {
	for _, n := range []int{0, 1, 33, 1000, 5000} {
		x := counting(compute.GetAllocator(ctx), n)
		defer x.Release()
		b := compute.NewBatch(ctx)
		defer b.Release()
		late := b.Call("greater", nil, x, int64(60))
		some := b.Call("filter", nil, x, late)
		less := b.Call("less", nil, some, int64(3000))
		fewer := b.Call("filter", nil, some, less)
		twice := b.Call("add", nil, fewer, fewer)
		total, most, rows := b.Call("sum", nil, twice), b.Call("min_max", nil, fewer), b.Call("count", nil, fewer)
		nulls := b.Call("is_null", nil, fewer)
		if err := b.Run(); err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		d := borrowed(x)[0]
		m := wantSame(t, late, "greater", d, compute.NewDatum(int64(60)))
		s := wantSame(t, some, "filter", d, m)
		l := wantSame(t, less, "less", s, compute.NewDatum(int64(3000)))
		f := wantSame(t, fewer, "filter", s, l)
		w := wantSame(t, twice, "add", f, f)
		wantSame(t, total, "sum", w)
		wantSame(t, most, "min_max", f)
		wantSame(t, rows, "count", f)
		wantSame(t, nulls, "is_null", f)
	}
}

// Pending results and columns of the same length, chunks, and lengths that differ.
func batchShapes(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 400)
	defer x.Release()
	c := chunked(x, 150)
	defer c.Release()
	d := borrowed(x)[0]
	b := compute.NewBatch(ctx)
	defer b.Release()
	late := b.Call("greater", nil, c, x)
	sum := b.Call("add", nil, c, x)
	again := b.Call("add", nil, sum, c)
	rows := b.Call("filter", nil, again, late)
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	m := wantSame(t, late, "greater", c, d)
	s := wantSame(t, sum, "add", c, d)
	a := wantSame(t, again, "add", s, c)
	wantSame(t, rows, "filter", a, m)

	bad := compute.NewBatch(ctx)
	defer bad.Release()
	late = bad.Call("greater", nil, x, int64(60))
	bad.Call("add", nil, bad.Call("filter", nil, x, late), x)
	if err := bad.Run(); !errors.Is(err, arrow.ErrInvalid) {
		t.Errorf("lengths that differ: %v", err)
	}
}

func batchStart(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 1000)
	defer x.Release()
	b := compute.NewBatch(ctx)
	defer b.Release()
	total := b.Call("sum", nil, x)
	p := b.Start()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("the batch does not end")
	}
	for range 2 {
		if err := p.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	wantSame(t, total, "sum", borrowed(x)...)
}

// A kept column outlives its batch and serves in others.
func batchKeep(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 1000)
	defer x.Release()
	b := compute.NewBatch(ctx)
	rows := b.Call("filter", nil, x, b.Call("greater", nil, x, int64(60)))
	kept, chunky := b.Keep(rows), b.Keep(b.Call("add", nil, x, x))
	if _, err := kept.Array(ctx); err == nil {
		t.Error("a column is there before its batch has run")
	}
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	want := mustDatum(t, rows)
	defer want.Release()
	b.Release()
	for range 2 {
		next := compute.NewBatch(ctx)
		total := next.Call("sum", nil, kept)
		next.Call("sum", nil, chunky)
		if err := next.Run(); err != nil {
			t.Fatal(err)
		}
		wantSame(t, total, "sum", want)
		next.Release()
	}
	arr, err := kept.Array(ctx)
	if err != nil {
		t.Fatal(err)
	}
	kept.Release()
	kept.Release()
	chunky.Release()
	if err := equal.Datums(borrowed(arr)[0], want); err != nil {
		t.Error(err)
	}
	arr.Release()
	if _, err := kept.Array(ctx); err == nil {
		t.Error("a released column is still there")
	}
	last := compute.NewBatch(ctx)
	defer last.Release()
	last.Call("sum", nil, kept)
	if err := last.Run(); !errors.Is(err, arrow.ErrInvalid) {
		t.Errorf("a released column as an argument: %v", err)
	}
}

// A datum that was taken out lives on; after the release there are no more.
func batchAfterRelease(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 1000)
	defer x.Release()
	b := compute.NewBatch(ctx)
	v := b.Call("add", nil, x, int64(1))
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	d := mustDatum(t, v)
	b.Release()
	b.Release()
	arr := d.(*compute.ArrayDatum).MakeArray().(*array.Int64)
	if arr.Value(7) != 8 || arr.IsValid(3) {
		t.Errorf("rows 3 and 7 are %s and %d", arr.ValueStr(3), arr.Value(7))
	}
	arr.Release()
	d.Release()
	if _, err := v.Datum(); err == nil {
		t.Error("a result after Release")
	}
}

// Go values become scalars.
func batchScalars(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 100)
	defer x.Release()
	b := compute.NewBatch(ctx)
	defer b.Release()
	plus := b.Call("add", nil, x, int64(5))
	minus := b.Call("sub", nil, int64(5), x)
	both := b.Call("add", nil, int64(2), int64(3))
	with := b.Call("multiply", nil, x, both)
	mixed := b.Call("add", nil, x, 0.5)
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	d := borrowed(x)[0]
	wantSame(t, plus, "add", d, compute.NewDatum(int64(5)))
	wantSame(t, minus, "sub", compute.NewDatum(int64(5)), d)
	five := wantSame(t, both, "add", compute.NewDatum(int64(2)), compute.NewDatum(int64(3)))
	wantSame(t, with, "multiply", d, five)
	wantSame(t, mixed, "add", d, compute.NewDatum(0.5))
}

// A failed batch names the call and has no results.
func batchFailure(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 100)
	zero := testInts(compute.GetAllocator(ctx), make([]int64, 100)...)
	words := array.NewStringBuilder(memory.DefaultAllocator)
	defer words.Release()
	words.AppendValues([]string{"a"}, nil)
	text := words.NewArray()
	defer x.Release()
	defer zero.Release()
	defer text.Release()
	for _, c := range []struct {
		function string
		args     []any
		want     error
	}{
		{"divide", []any{x, zero}, arrow.ErrInvalid},
		{"add", []any{x, int64(1<<63 - 1)}, arrow.ErrInvalid},
		{"sum", []any{text}, arrow.ErrNotImplemented},
		{"no_such_function", []any{x}, arrow.ErrKey},
		{"add", []any{x}, arrow.ErrInvalid},
		{"add", []any{x, nil}, arrow.ErrInvalid},
		{"add", []any{x, struct{}{}}, arrow.ErrInvalid},
		{"filter", []any{x, zero}, arrow.ErrNotImplemented},
	} {
		b := compute.NewBatch(ctx)
		before := b.Call("sum", nil, x)
		after := b.Call(c.function, nil, c.args...)
		kept := b.Keep(before)
		err := b.Run()
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.function) {
			t.Errorf("%s: got %v, want %v with its name", c.function, err, c.want)
		}
		for _, v := range []*compute.Value{before, after} {
			if d, err := v.Datum(); err == nil {
				t.Errorf("%s: a failed batch has the result %v", c.function, d)
			}
		}
		if _, err := kept.Array(ctx); err == nil {
			t.Errorf("%s: a failed batch has a column", c.function)
		}
		kept.Release()
		b.Release()
	}
}

func batchWrongUse(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 10)
	defer x.Release()
	one := compute.NewBatch(ctx)
	defer one.Release()
	v := one.Call("sum", nil, x)
	if _, err := v.Datum(); err == nil {
		t.Error("a result before Run")
	}
	other := compute.NewBatch(ctx)
	defer other.Release()
	other.Call("add", nil, v, int64(1))
	if err := other.Run(); !errors.Is(err, arrow.ErrInvalid) {
		t.Errorf("a value of another batch: %v", err)
	}
	keeper := compute.NewBatch(ctx)
	defer keeper.Release()
	keeper.Call("sum", nil, x)
	keeper.Keep(v).Release()
	if err := keeper.Run(); !errors.Is(err, arrow.ErrInvalid) {
		t.Errorf("Keep of a value of another batch: %v", err)
	}
	if err := one.Run(); err != nil {
		t.Fatal(err)
	}
	if err := one.Run(); !errors.Is(err, arrow.ErrInvalid) {
		t.Errorf("a second Run: %v", err)
	}
	late := one.Call("sum", nil, x)
	if _, err := late.Datum(); err == nil {
		t.Error("a call after Run has a result")
	}
	wantSame(t, v, "sum", borrowed(x)...)
	var none *compute.Value
	nilValue := compute.NewBatch(ctx)
	defer nilValue.Release()
	nilValue.Call("sum", nil, none)
	if err := nilValue.Run(); !errors.Is(err, arrow.ErrInvalid) {
		t.Errorf("a nil value: %v", err)
	}
}

func batchEmpty(t *testing.T, ctx context.Context) {
	b := compute.NewBatch(ctx)
	defer b.Release()
	if err := b.Run(); err != nil {
		t.Error(err)
	}
	unused := compute.NewBatch(ctx)
	unused.Call("no_such_function", nil)
	unused.Release()
}

// The same argument serves many calls.
func batchReused(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 300)
	defer x.Release()
	b := compute.NewBatch(ctx)
	defer b.Release()
	d := borrowed(x)[0]
	v := b.Call("add", nil, d, d)
	for range 20 {
		v = b.Call("sub", nil, v, d)
		v = b.Call("add", nil, v, d)
	}
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	wantSame(t, v, "add", d, d)
}

// The batch keeps what it was given, whatever the caller does with its own references.
func batchArgumentsLetGo(t *testing.T, ctx context.Context) {
	x, y := counting(compute.GetAllocator(ctx), 2000), counting(memory.DefaultAllocator, 2000)
	defer y.Release()
	b := compute.NewBatch(ctx)
	v := b.Call("sum", nil, b.Call("add", nil, x, int64(1)))
	x.Release()
	p := b.Start()
	b.Release() // of a batch under way: it happens at the end
	if err := p.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	_, _ = v.Datum() // there or gone, but no crash
	again := compute.NewBatch(ctx)
	defer again.Release()
	v = again.Call("sum", nil, y)
	if err := again.Run(); err != nil {
		t.Fatal(err)
	}
	wantSame(t, v, "sum", borrowed(y)...)
}

// Record batches and what the engine has no kernel for run on the CPU.
func batchRecords(t *testing.T, ctx context.Context) {
	c := newColumns(memory.DefaultAllocator)
	defer c.release()
	b := compute.NewBatch(ctx)
	defer b.Release()
	rec := b.Call("filter", nil, c.record, c.bools)
	text := b.Call("filter", nil, c.words, c.bools)
	n := b.Call("count", nil, text)
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	f := compute.NewDatumWithoutOwning(c.bools)
	wantSame(t, rec, "filter", compute.NewDatumWithoutOwning(c.record), f)
	d := wantSame(t, text, "filter", compute.NewDatumWithoutOwning(c.words), f)
	wantSame(t, n, "count", d)
}

// A waiter that gives up gets its context's error; the work goes on.
func batchCancelled(t *testing.T, ctx context.Context) {
	x := counting(compute.GetAllocator(ctx), 50_000)
	defer x.Release()
	b := compute.NewBatch(ctx)
	defer b.Release()
	v := b.Call("sum", nil, b.Call("filter", nil, x, b.Call("greater", nil, x, int64(60))))
	p := b.Start()
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Wait(gone); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := p.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustDatum(t, v).Release()

	// a batch whose own context ends: Run says so, and nothing is lost
	own, stop := context.WithCancel(ctx)
	c := compute.NewBatch(own)
	c.Call("sum", nil, x)
	p = c.Start()
	stop()
	if err := p.Wait(own); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c.Release()
	<-p.Done()
}
