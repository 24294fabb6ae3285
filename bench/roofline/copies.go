package roofline

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

// copies measures what moves without being computed with.
func (b *bench) copies(in *inputs) error {
	if err := b.deviceCopy(); err != nil {
		return err
	}
	foreign := in.copied(arrowmem.NewGoAllocator())
	defer foreign.release()
	for _, c := range []struct {
		name string
		col  arrow.Array
	}{{"to the device, from GPU-visible memory", in.a}, {"to the device, from foreign memory", foreign.a}} {
		wall, device, err := b.times(func() error {
			col, err := compute.ToDevice(b.ctx, c.col)
			if err == nil {
				col.Release()
			}
			return err
		})
		if err != nil {
			return err
		}
		b.copied(c.name, 8*c.col.Len(), ms(wall), ms(device))
	}
	if _, _, err := b.home(in); err != nil { // the host's memory is got from the system, and stays for what follows
		return err
	}
	wall, device, err := b.home(in)
	if err == nil {
		b.copied("home from the device", 8*in.a.Len(), ms(wall), ms(device))
	}
	return err
}

// deviceCopy measures the bandwidth that everything else is compared with.
func (b *bench) deviceCopy() error {
	size := 8 * b.rows
	var bufs [2]gpu.Buffer
	for i := range bufs {
		var err error
		if bufs[i], err = b.dev.Alloc(size, gpu.Private); err != nil {
			return err
		}
		defer bufs[i].Release()
	}
	wall, device, err := b.times(func() error {
		c := b.dev.Commands()
		c.Copy(bufs[0], 0, bufs[1], 0, size)
		e, err := c.Commit()
		if err != nil {
			return err
		}
		return e.Wait(b.ctx)
	})
	if err != nil {
		return err
	}
	b.copied("within the device, read and written", 2*size, ms(wall), ms(device))
	b.report.CopyTBs = b.report.Copies[0].TBs
	return nil
}

// home measures the way back: kept columns whose arrays are asked for.
func (b *bench) home(in *inputs) (wall, device time.Duration, err error) {
	var cols []*compute.Column
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	keep := func(ctx context.Context) error {
		batch := compute.NewBatch(ctx)
		defer batch.Release()
		cols = append(cols, batch.Keep(batch.Call("bit_wise_not", nil, in.a)))
		return batch.Run()
	}
	const times = 4
	for range times {
		if err := keep(b.ctx); err != nil {
			return 0, 0, err
		}
	}
	i, each := 0, b.each
	b.each = 0 // as many times as there are columns
	defer func() { b.each = each }()
	return b.times(func() error {
		arr, err := cols[i%times].Array(b.ctx)
		if err == nil {
			arr.Release()
		}
		i++
		return err
	})
}

func (b *bench) copied(name string, bytes int, wall, device float64) {
	b.report.Copies = append(b.report.Copies, Copy{
		Name: name, Bytes: int64(bytes), WallMS: wall, DeviceMS: device, TBs: tbs(int64(bytes), best(device, wall)),
	})
}
