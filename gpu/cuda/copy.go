//go:build linux && (amd64 || arm64)

package cuda

import (
	"sync"

	"github.com/broadhead-go/broadhead/gpu"
)

const (
	copyThreads     = 256
	copyThreadBytes = 16

	// smallCopy is up to where a kernel copies: handing the work to a copy engine and back takes longer.
	smallCopy = 64 << 10
)

// copyKernel copies a little, and from host memory to host memory: there the driver's own copy would wait for the stream
// and run on the calling thread.
var copyKernel = gpu.Source{Name: "copy_bytes", Text: `#include <metal_stdlib>
using namespace metal;
kernel void copy_bytes(device const uchar* src [[buffer(0)]], device uchar* dst [[buffer(1)]],
    constant ulong& n [[buffer(2)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong first = (((ulong)tg.y * 65536ul + (ulong)tg.x) * 256ul + (ulong)tid) * 16ul;
    if (first + 16ul <= n && (((ulong)src | (ulong)dst) & 15ul) == 0ul) {
        *(device uint4*)(dst + first) = *(device const uint4*)(src + first);
        return;
    }
    for (ulong i = first; i < first + 16ul && i < n; i++) dst[i] = src[i];
}
`}

// hostCopier is the compiled copyKernel, built when first needed.
type hostCopier struct {
	mu   sync.Mutex
	pipe *pipeline
}

func (h *hostCopier) get(d *device) (*pipeline, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pipe == nil {
		p, err := d.compile(copyKernel)
		if err != nil {
			return nil, err
		}
		h.pipe = p
	}
	return h.pipe, nil
}

func (h *hostCopier) free() {
	if h.pipe != nil {
		h.pipe.Release()
	}
}
