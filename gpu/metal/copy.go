//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"encoding/binary"
	"sync"

	"github.com/broadhead-go/broadhead/gpu"
)

const (
	blitGranule     = 4 // what macOS asks of a blit's offsets and size
	copyThreads     = 256
	copyThreadBytes = 16
)

// copyKernel copies ranges that a blit cannot.
var copyKernel = gpu.Source{Name: "copy_bytes", Text: `#include <metal_stdlib>
using namespace metal;
kernel void copy_bytes(device const uchar* src [[buffer(0)]], device uchar* dst [[buffer(1)]],
    constant ulong& n [[buffer(2)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong first = (((ulong)tg.y * 65536ul + (ulong)tg.x) * 256ul + (ulong)tid) * 16ul;
    for (ulong i = first; i < first + 16ul && i < n; i++) dst[i] = src[i];
}
`}

// byteCopier is the compiled copyKernel, built when first needed.
type byteCopier struct {
	mu   sync.Mutex
	pipe *pipeline
}

// get returns the kernel of the device that s works for.
func (b *byteCopier) get(s *session, d *device) (*pipeline, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pipe == nil {
		p, err := d.compile(s, copyKernel)
		if err != nil {
			return nil, err
		}
		b.pipe = p
	}
	return b.pipe, nil
}

func (b *byteCopier) free() {
	if b.pipe != nil {
		b.pipe.Release()
	}
}

// copy encodes a copy: a blit where one is allowed, else a dispatch.
func (e *encoder) copy(c *step) error {
	if (c.SrcOff|c.DstOff|c.N)%blitGranule == 0 {
		if err := e.open(blitEncoder, selBlitEncoder); err != nil {
			return err
		}
		e.send(e.id, selCopy, uintptr(c.Src.id), uintptr(c.SrcOff), uintptr(c.Dst.id), uintptr(c.DstOff), uintptr(c.N))
		e.used = true
		return nil
	}
	pipe, err := e.dev.copier.get(e.session, e.dev)
	if err != nil {
		return err
	}
	from := len(e.rec.Bytes)
	e.rec.Bytes = binary.LittleEndian.AppendUint64(e.rec.Bytes, uint64(c.N))
	const perGroup = copyThreads * copyThreadBytes
	return e.run(pipe, (c.N+perGroup-1)/perGroup, copyThreads, []binding{
		{Buf: c.Src, Off: c.SrcOff}, {Buf: c.Dst, Off: c.DstOff}, {From: from, To: len(e.rec.Bytes)},
	})
}
