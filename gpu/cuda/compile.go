//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"runtime"
	"strings"
	"sync"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

// attributeMaxThreads is CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK.
const attributeMaxThreads = 0

// pipeline is a compiled kernel.
type pipeline struct {
	dev        *device
	name       string
	src        gpu.Source
	maxThreads int
	code       module
	record.Life

	addressing sync.Once
	byAddress  *module // takes constant references as addresses; made when a buffer is bound to one
	addressErr error
}

// module is a kernel on the device.
type module struct {
	handle   uintptr
	function uintptr
	params   []param

	byAddress bool // constant references are passed as addresses, not by value
}

// Compile builds one kernel.
func (d *device) Compile(src gpu.Source) (gpu.Pipeline, error) {
	if err := d.Enter(); err != nil {
		return nil, err
	}
	defer d.Leave()
	p, err := d.compile(src)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (d *device) compile(src gpu.Source) (*pipeline, error) {
	p := &pipeline{dev: d, name: src.Name, src: src}
	if err := d.load(src, false, &p.code); err != nil {
		return nil, err
	}
	s, err := d.ctx.begin()
	if err != nil {
		return nil, err
	}
	st := s.call(cuFuncGetAttribute, s.result(0), attributeMaxThreads, p.code.function)
	p.maxThreads = int(int32(s.out[0]))
	s.end()
	if st != success {
		d.unload(&p.code)
		return nil, d.judge(st)
	}
	d.ctx.retain()
	p.Begin(p.free)
	return p, nil
}

// load compiles a kernel into m.
func (d *device) load(src gpu.Source, byAddress bool, m *module) error {
	prog, err := translate(src, byAddress)
	if err != nil {
		return err
	}
	if d.compiler == nil {
		image, err := d.precompiled.find(src, prog)
		if err == nil {
			err = d.loadImage(src, image, m)
		}
		m.params, m.byAddress = prog.params, byAddress
		return err
	}
	key, option, cubin := d.imageKey(src.Name, prog)
	if image := d.images.get(key); image != nil {
		err := d.loadImage(src, image, m)
		if !errors.Is(err, gpu.ErrCompile) {
			m.params, m.byAddress = prog.params, byAddress
			return err
		}
		d.images.drop(key) // compile it anew
	}
	image, err := d.compiler.compile(src, prog.text, option, cubin)
	if err != nil {
		return err
	}
	if err := d.loadImage(src, image, m); err != nil {
		return err
	}
	m.params, m.byAddress = prog.params, byAddress
	d.images.put(key, image)
	return nil
}

// imageKey names the image of a program, and says how it is made.
func (d *device) imageKey(name string, prog program) (key, option string, cubin bool) {
	option, cubin = d.compiler.target(d.arch)
	return imageKey(name, prog.text, option, strings.Join(compileOptions, " "), d.compiler.version), option, cubin
}

// loadImage loads what the compiler made and finds the kernel in it.
func (d *device) loadImage(src gpu.Source, image []byte, m *module) error {
	var got module
	err := d.patiently(func() error { return d.loadNow(src, image, &got) }, func() { d.unload(&got) })
	if err == nil {
		m.handle, m.function = got.handle, got.function
	}
	return err
}

func (d *device) loadNow(src gpu.Source, image []byte, m *module) error {
	s, err := d.ctx.begin()
	if err != nil {
		return err
	}
	defer s.end()
	st := s.call(cuModuleLoadData, s.result(0), address(image))
	runtime.KeepAlive(image)
	if st != success {
		return d.loadError(src, st)
	}
	m.handle = s.out[0]
	name := cstring(src.Name)
	st = s.call(cuModuleGetFunction, s.result(0), m.handle, address(name))
	runtime.KeepAlive(name)
	if st != success {
		s.call(cuModuleUnload, m.handle)
		return d.loadError(src, st)
	}
	m.function = s.out[0]
	return nil
}

// loadError is the error of an image that the driver does not take.
func (d *device) loadError(src gpu.Source, st status) error {
	switch err := d.judge(st).(type) {
	case *gpu.CommandError:
		return &gpu.CompileError{Kernel: src.Name, Log: "the driver does not load what NVRTC " + d.compilerVersion() +
			" made (the driver is for CUDA " + versionText(d.drv.version) + "): " + err.Log}
	default:
		return err
	}
}

// compilerVersion is that of the NVRTC that makes, or made, the device's kernels.
func (d *device) compilerVersion() string {
	if d.compiler == nil {
		return d.precompiled.compiler
	}
	return d.compiler.version
}

// addressed is the kernel whose constant references are addresses.
func (p *pipeline) addressed() (*module, error) {
	p.addressing.Do(func() {
		m := new(module)
		if p.addressErr = p.dev.load(p.src, true, m); p.addressErr == nil {
			p.byAddress = m
		}
	})
	return p.byAddress, p.addressErr
}

// MaxThreads is the largest threadgroup this kernel can run with.
func (p *pipeline) MaxThreads() int { return p.maxThreads }

// Owner is the device that the kernel was built for.
func (p *pipeline) Owner() *device { return p.dev }

// Name is the kernel's.
func (p *pipeline) Name() string { return p.name }

// free unloads the kernel.
func (p *pipeline) free() {
	p.dev.graphs.forget(p)
	p.dev.unload(&p.code)
	if p.byAddress != nil {
		p.dev.unload(p.byAddress)
	}
	p.dev.ctx.release()
}

// unload unloads a kernel, for which the driver may wait until the device has ended its work.
func (d *device) unload(m *module) {
	d.ctx.retain()
	d.Ends.Afterwards(func() {
		_ = d.patiently(func() error {
			if s, err := d.ctx.begin(); err == nil { // else the kernel is gone with the context
				s.call(cuModuleUnload, m.handle)
				s.end()
			}
			d.ctx.release()
			return nil
		}, nil)
	})
}
