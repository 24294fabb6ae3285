package compute

import (
	"context"

	"github.com/broadhead-go/broadhead/msl"
)

// bringHome records the copy of a result to memory that the host sees, on devices where kernels wrote it elsewhere. Of
// chunks whose length only the device knows it does so once that is known.
func (r *recorder) bringHome(v *value, ended bool) (err error) {
	for i := range v.parts {
		p := &v.parts[i]
		if p.home() || p.count != nil && !ended {
			continue
		}
		if r.c == nil {
			r.c, r.epoch = r.e.dev.Commands(), r.epoch+1
		}
		if p.values.epoch == r.epoch || p.valid.epoch == r.epoch {
			r.c.Barrier()
			r.epoch++
		}
		n := p.rows()
		if p.valueBuf, err = r.copyHome(&p.values, wordBytes(p.typ, n)); err != nil {
			return err
		}
		p.host = p.valueBuf.Bytes()
		if p.nullable {
			if p.validBuf, err = r.copyHome(&p.valid, bitmapBytes(n)); err != nil {
				return err
			}
			p.hostValid = p.validBuf.Bytes()
		}
	}
	for _, f := range v.fields {
		if err := r.bringHome(f, ended); err != nil {
			return err
		}
	}
	return nil
}

// home says whether the host sees a part.
func (p *part) home() bool { return p.valueBuf != nil || p.like == nil && p.typ == msl.NoType }

// bringRest brings home what bringHome could not while its length was pending.
func (r *recorder) bringRest(ctx context.Context, v *value) error {
	if err := r.bringHome(v, true); err != nil || r.c == nil {
		return err
	}
	if err := r.commit(); err != nil {
		return err
	}
	return r.event.Wait(ctx)
}

// wordBytes is the size of n values as kernels write them: bitmaps in whole words.
func wordBytes(t msl.Type, n int) int {
	if t == msl.Bool {
		return bitmapBytes(n)
	}
	return bytesFor(t, n)
}
