//go:build linux && (amd64 || arm64) && !noemulator

package compute_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// idleCard is a card whose kernels and copies do nothing once it idles: what is left is what the engine itself costs.
type idleCard struct {
	gpu.Device
	idles atomic.Bool
}

func (c *idleCard) Info() gpu.Info {
	info := c.Device.Info()
	info.Unified = false
	return info
}

func (c *idleCard) Commands() gpu.Commands { return &idleCommands{c.Device.Commands(), c} }

type idleCommands struct {
	gpu.Commands
	card *idleCard
}

func (c *idleCommands) Dispatch(p gpu.Pipeline, groups, threads int, args []gpu.Arg) {
	if c.card.idles.Load() {
		groups = 0
	}
	c.Commands.Dispatch(p, groups, threads, args)
}

func (c *idleCommands) Copy(dst gpu.Buffer, dstOff int, src gpu.Buffer, srcOff, n int) {
	if c.card.idles.Load() {
		n = 0
	}
	c.Commands.Copy(dst, dstOff, src, srcOff, n)
}

func (c *idleCommands) Run(ctx context.Context) error { return c.Commands.(gpu.Runner).Run(ctx) }

// BenchmarkEngine is small calls on a card that does nothing.
func BenchmarkEngine(b *testing.B) {
	dev, err := gpu.Open("emulator")
	require.NoError(b, err)
	card := &idleCard{Device: dev}
	always(b)
	ctx := compute.WithAllocator(compute.WithDevice(context.Background(), card), memory.New(card))
	x := testInts(compute.GetAllocator(ctx), make([]int64, 1000)...)
	defer x.Release()
	col, err := compute.ToDevice(ctx, x)
	require.NoError(b, err)
	defer col.Release()
	args, five := borrowed(x), compute.NewDatum(int64(5))
	eager := func(name string, args ...compute.Datum) func() error {
		return func() error {
			out, err := compute.CallFunction(ctx, name, nil, args...)
			if err == nil {
				out.Release()
			}
			return err
		}
	}
	for name, run := range map[string]func() error{
		"sum":     eager("sum", args...),
		"greater": eager("greater", args[0], five),
		"add":     eager("add", args[0], args[0]),
		"batch of ten": func() error {
			batch := compute.NewBatch(ctx)
			defer batch.Release()
			v := batch.Call("add", nil, args[0], five)
			for range 8 {
				v = batch.Call("add", nil, v, five)
			}
			batch.Call("sum", nil, v)
			return batch.Run()
		},
	} {
		b.Run(name, func(b *testing.B) {
			card.idles.Store(false)
			require.NoError(b, run()) // admits
			card.idles.Store(true)
			b.ReportAllocs()
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
