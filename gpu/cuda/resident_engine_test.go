//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
	"github.com/broadhead-go/broadhead/resident"
)

// numbers is a column of a type, from a slice at an odd offset, with values that overflow now and then.
func numbers(rng *rand.Rand, typ arrow.DataType, n int, nulls bool) arrow.Array {
	b := array.NewBuilder(arrowmem.DefaultAllocator, typ)
	defer b.Release()
	for range n + 3 {
		if nulls && rng.IntN(4) == 0 {
			b.AppendNull()
			continue
		}
		u := rng.Uint64() >> rng.IntN(64)
		switch b := b.(type) {
		case *array.Int32Builder:
			b.Append(int32(u))
		case *array.Uint32Builder:
			b.Append(uint32(u))
		case *array.Int64Builder:
			b.Append(int64(u))
		case *array.Uint64Builder:
			b.Append(u)
		case *array.Float32Builder:
			b.Append(float32(int64(u)) / 16)
		case *array.Float64Builder:
			b.Append(float64(int64(u)) / 16)
		case *array.BooleanBuilder:
			b.Append(u&1 == 0)
		}
	}
	whole := b.NewArray()
	defer whole.Release()
	if typ.ID() == arrow.BOOL {
		return array.NewSlice(whole, 0, int64(n))
	}
	return array.NewSlice(whole, 3, int64(n+3))
}

// The engine's calls over device columns go to the worker, and its answers are the CPU's.
func TestWorkerInEngine(t *testing.T) {
	run := func(t *testing.T, d gpu.Device) {
		w, err := resident.NewWorker(d, resident.WorkerOptions{Members: 2, Solo: 500, Lanes: 1, Idle: time.Second, Lifetime: 2 * time.Second})
		require.NoError(t, err)
		gpu.SetWorker(d, w)
		defer func() {
			gpu.SetWorker(d, nil)
			w.Close()
		}()
		require.NoError(t, compute.SetCrossover("", 0))
		defer func() { require.NoError(t, compute.SetCrossover("", -1)) }()
		mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		ctx := compute.WithAllocator(compute.WithDevice(context.Background(), d), mem)
		cpu := compute.WithAllocator(compute.WithDevice(context.Background(), nil), mem)
		rng := rand.New(rand.NewPCG(3, 4))
		types := []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Float32,
			arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64}
		calls := 0
		check := func(name string, args ...compute.Datum) {
			t.Helper()
			plan, err := compute.Explain(ctx, name, nil, args...)
			require.NoError(t, err)
			if args[0].(compute.ArrayLikeDatum).NullN() == 0 || name == "count" || name == "sum" || name == "min_max" {
				isFloatSum := name == "sum" && arrow.IsFloating(args[0].(compute.ArrayLikeDatum).Type().ID())
				require.Equal(t, !isFloatSum, plan.Reason != "" && plan.Device == "cuda" && plan.Place == compute.DeviceMemory &&
					plan.Reason[len(plan.Reason)-8:] == "worker's", "%s of %s: %s", name, args[0], plan)
			}
			want, wantErr := compute.CallFunction(cpu, name, nil, args...)
			got, err := compute.CallFunction(ctx, name, nil, args...)
			if wantErr != nil {
				require.ErrorIs(t, err, arrow.ErrInvalid, name)
				return
			}
			require.NoError(t, err, name)
			require.True(t, want.Equals(got), "%s of %s: %s, not %s", name, args[0], got, want)
			want.Release()
			got.Release()
			calls++
		}
		lengths := []int{1, 33, 500, 501, 1100}
		if strings.HasPrefix(d.Info().Name, "software") { // which takes its time
			types, lengths = types[3:4], []int{33, 600}
		}
		for _, typ := range types {
			for _, n := range lengths {
				var datums []compute.Datum
				mask := numbers(rng, arrow.FixedWidthTypes.Boolean, n, false)
				for _, arr := range []arrow.Array{numbers(rng, typ, n, false), numbers(rng, typ, n, false), numbers(rng, typ, n, true), mask} {
					defer arr.Release()
					col, err := compute.ToDevice(ctx, arr)
					require.NoError(t, err)
					defer col.Release()
					datums = append(datums, compute.NewDatumWithoutOwning(arr))
				}
				a, b, nulls, bits := datums[0], datums[1], datums[2], datums[3]
				lit, err := compute.CastDatum(cpu, compute.NewDatum(int64(7)), compute.SafeCastOptions(typ))
				require.NoError(t, err)
				for _, name := range []string{"sum", "min_max"} {
					check(name, a)
					check(name, nulls)
				}
				if nulls.(compute.ArrayLikeDatum).NullN() > 0 {
					check("count", nulls)
				}
				for _, name := range []string{"equal", "less", "greater_equal", "add", "sub_unchecked", "sub", "multiply"} {
					check(name, a, b)
					check(name, a, lit)
				}
				check("greater", nulls, b)
				check("filter", a, bits)
			}
		}
		t.Log(calls, "calls")
		for _, s := range compute.Stats() {
			require.Zero(t, s.Fallbacks, "%+v", s)
		}
	}
	t.Run("device", func(t *testing.T) {
		if d := open(t); d != nil {
			run(t, d)
		}
	})
	t.Run("software", func(t *testing.T) { run(t, sharedSoftware(t).device(t)) })
}

// A repeated aggregate on the worker allocates its result, a datum and a scalar, and nothing else.
func TestWorkerAllocatesItsResultOnly(t *testing.T) {
	if raceEnabled {
		return // pools forget
	}
	d := sharedSoftware(t).device(t)
	w, err := resident.NewWorker(d, resident.WorkerOptions{Members: 1, Lanes: 1, Idle: 5 * time.Second, Lifetime: 10 * time.Second})
	require.NoError(t, err)
	gpu.SetWorker(d, w)
	defer func() {
		gpu.SetWorker(d, nil)
		w.Close()
	}()
	require.NoError(t, compute.SetCrossover("", 0))
	defer func() { require.NoError(t, compute.SetCrossover("", -1)) }()
	ctx := compute.WithDevice(context.Background(), d)
	arr := numbers(rand.New(rand.NewPCG(5, 6)), arrow.PrimitiveTypes.Int64, 100, false)
	defer arr.Release()
	col, err := compute.ToDevice(ctx, arr)
	require.NoError(t, err)
	defer col.Release()
	args := []compute.Datum{compute.NewDatumWithoutOwning(arr)}
	call := func() {
		if _, err := compute.CallFunction(ctx, "sum", nil, args...); err != nil {
			t.Error(err)
		}
	}
	call()
	result := testing.AllocsPerRun(20, func() { sink = compute.NewDatumWithoutOwning(scalar.NewInt64Scalar(7)) })
	plan, err := compute.Explain(ctx, "sum", nil, args...)
	require.NoError(t, err)
	require.Contains(t, plan.Reason, "worker")
	require.Equal(t, result, testing.AllocsPerRun(20, call))
}

var sink compute.Datum

// A worker that fails is counted, and the device or the CPU answers.
func TestEngineWithoutItsWorker(t *testing.T) {
	d := sharedSoftware(t).device(t)
	w := &failing{err: errors.New("out of order")}
	gpu.SetWorker(d, w)
	defer gpu.SetWorker(d, nil)
	require.NoError(t, compute.SetCrossover("", 0))
	defer func() { require.NoError(t, compute.SetCrossover("", -1)) }()
	ctx := compute.WithDevice(context.Background(), d)
	arr := numbers(rand.New(rand.NewPCG(5, 6)), arrow.PrimitiveTypes.Int64, 100, false)
	defer arr.Release()
	col, err := compute.ToDevice(ctx, arr)
	require.NoError(t, err)
	defer col.Release()
	in := compute.NewDatumWithoutOwning(arr)
	want, err := compute.Sum(compute.WithDevice(ctx, nil), nil, in)
	require.NoError(t, err)
	got, err := compute.Sum(ctx, nil, in)
	require.NoError(t, err)
	require.True(t, want.Equals(got))
	require.Positive(t, w.asked)
	plan, err := compute.Explain(ctx, "sum", nil, in)
	require.NoError(t, err)
	require.NotContains(t, plan.Reason, "worker", "it failed its admission")
	col.Release()
	require.NoError(t, d.Close())
}

type failing struct {
	gpu.Worker
	err   error
	asked int
}

func (*failing) Takes(gpu.WorkerOp, msl.Type) bool { return true }

func (f *failing) Do(context.Context, []gpu.Task) error {
	f.asked++
	return f.err
}
