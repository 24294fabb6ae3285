//go:build linux && (amd64 || arm64)

package cuda

import (
	"sync/atomic"
)

// primary is a device's primary context, retained for as long as anything of ours lives in it: the device, buffers,
// pipelines.
type primary struct {
	drv     *driver
	ordinal int32
	handle  uintptr
	refs    atomic.Int64
}

// retainPrimary retains the primary context of a CUdevice, for one reference.
func (s *session) retainPrimary(ordinal int32) (*primary, error) {
	p := &primary{drv: s.drv, ordinal: ordinal}
	if st := s.call(cuDevicePrimaryCtxRetain, s.result(0), uintptr(ordinal)); st != success {
		return nil, s.drv.describe(st)
	}
	p.handle = s.out[0]
	p.refs.Store(1)
	return p, nil
}

func (p *primary) retain() { p.refs.Add(1) }

// release gives a reference back; with the last goes the context, unless others use it too.
func (p *primary) release() {
	if p.refs.Add(-1) == 0 {
		s := p.drv.bare()
		s.call(cuDevicePrimaryCtxRelease, uintptr(p.ordinal))
		s.endBare()
	}
}

// begin opens a session in the context.
func (p *primary) begin() (*session, error) { return p.drv.begin(p.handle) }
