//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

func init() { gpu.Register("cuda", Open) }

// Caps are the abilities of every GPU that this driver opens, as kernel text depends on them.
const Caps = msl.Float64 | msl.Atomic64 | msl.ForwardProgress

// CUdevice_attribute.
const (
	attributeSharedBytes     = 8
	attributeWarpSize        = 10
	attributeMapsHost        = 19
	attributeUnifiedAddress  = 41
	attributeMajor           = 75
	attributeMinor           = 76
	attributeStreamWrites64  = 122
	attributeComputeMode     = 20
	computeModeProhibited    = 2
	minCapability            = 70 // independent threads in a warp
	simdWidth                = 32
	streamNonBlocking        = 1
	hostRegisterPortable     = 1
	hostRegisterDeviceMapped = 2
)

// Open opens the GPUs of the machine that the kernels can run on, in CUDA's order; when there is none the error says
// why. Most programs call gpu.Open("cuda") instead, which gives everybody the same device; Open makes new ones each
// time.
func Open() ([]gpu.Device, error) {
	drv, err := loadDriver()
	if err != nil {
		return nil, err
	}
	return drv.open(func() (tools, error) { return findTools(loadNVRTC, openPrecompiled) })
}

// tools are where a device's kernels come from: a compiler and what it has made already, or an archive of those compiled
// beforehand.
type tools struct {
	compiler    *nvrtc
	images      *imageCache
	precompiled *archive // where there is no compiler
}

func findTools(load func() (*nvrtc, error), precompiled func() (*archive, error)) (tools, error) {
	compiler, err := load()
	if err == nil {
		return tools{compiler: compiler, images: openImageCache()}, nil
	}
	a, none := precompiled()
	if none != nil {
		return tools{}, fmt.Errorf("%w; %w", err, none)
	}
	return tools{precompiled: a}, nil
}

// open opens the driver's devices. The compiler is loaded only if there are some.
func (drv *driver) open(find func() (tools, error)) ([]gpu.Device, error) {
	s := drv.bare()
	defer s.endBare()
	if st := s.call(cuDeviceGetCount, s.result(0)); st != success {
		return nil, fmt.Errorf("cuda: %w", drv.describe(st))
	}
	count := int32(s.out[0])
	if count == 0 {
		return nil, errors.New("cuda: the NVIDIA driver sees no GPU")
	}
	tools, err := find()
	if err != nil {
		return nil, err
	}
	var devices []gpu.Device
	var unfit []error
	for i := range count {
		d, err := s.open(i, tools)
		if err != nil {
			unfit = append(unfit, err)
			continue
		}
		devices = append(devices, d)
	}
	if devices == nil {
		return nil, errors.Join(unfit...)
	}
	return devices, nil
}

// open opens the device of a number.
func (s *session) open(number int32, t tools) (*device, error) {
	if st := s.call(cuDeviceGet, s.result(0), uintptr(number)); st != success {
		return nil, fmt.Errorf("cuda: device %d: %w", number, s.drv.describe(st))
	}
	ordinal := int32(s.out[0])
	name := s.text[:]
	s.call(cuDeviceGetName, address(name), uintptr(len(name)), uintptr(ordinal))
	d := &device{drv: s.drv, tools: t}
	d.info = gpu.Info{
		Driver:           "cuda",
		Name:             string(name[:max(bytes.IndexByte(name, 0), 0)]),
		Caps:             Caps,
		SIMDWidth:        simdWidth,
		ThreadgroupBytes: s.attribute(attributeSharedBytes, ordinal),
	}
	d.arch = 10*s.attribute(attributeMajor, ordinal) + s.attribute(attributeMinor, ordinal)
	if err := s.unfit(ordinal, d); err != nil {
		return nil, err
	}
	s.call(cuDeviceTotalMem, s.result(0), uintptr(ordinal))
	d.info.MemoryBytes, d.info.MaxBufferBytes = int64(s.out[0]), int64(s.out[0])
	d.pool.limit = int(s.out[0] / poolShare)
	ctx, err := s.retainPrimary(ordinal)
	if err != nil {
		return nil, fmt.Errorf("cuda: %s gives no context: %w", d.info.Name, err)
	}
	d.ctx = ctx
	d.Open()
	return d, nil
}

// attribute reads a device attribute, 0 if the driver does not know it.
func (s *session) attribute(which uintptr, ordinal int32) int {
	s.call(cuDeviceGetAttribute, s.result(0), which, uintptr(ordinal))
	return int(*(*int32)(unsafe.Pointer(&s.out[0])))
}

// unfit says what a device lacks.
func (s *session) unfit(ordinal int32, d *device) error {
	lacks := func(what string) error { return fmt.Errorf("%w: cuda: %s: %s", gpu.ErrUnsupported, d.info.Name, what) }
	switch {
	case d.arch < minCapability:
		return lacks(fmt.Sprintf("compute capability %d.%d, %d.%d or later is needed", d.arch/10, d.arch%10,
			minCapability/10, minCapability%10))
	case d.compiler == nil && d.arch < precompiledArch:
		return lacks(fmt.Sprintf("compute capability %d.%d; the kernels compiled beforehand are for %d.%d and later, and %s", d.arch/10, d.arch%10,
			precompiledArch/10, precompiledArch%10, howNVRTC))
	case s.attribute(attributeWarpSize, ordinal) != simdWidth:
		return lacks("its warps have not 32 threads")
	case s.attribute(attributeComputeMode, ordinal) == computeModeProhibited:
		return lacks("its compute mode prohibits contexts")
	case s.attribute(attributeMapsHost, ordinal) == 0 || s.attribute(attributeUnifiedAddress, ordinal) == 0:
		return lacks("it cannot map host memory")
	case s.attribute(attributeStreamWrites64, ordinal) == 0:
		return lacks("its streams cannot write 64-bit words")
	}
	return nil
}
