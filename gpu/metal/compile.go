//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"regexp"
	"runtime"
	"time"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/compilelog"
	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

const (
	language31   = 3<<16 | 1 // MTLLanguageVersion3_1, of macOS 14
	mathModeSafe = 0
	// pipelineRetry is the pause before the one second try: some virtual devices fail to make pipelines at random.
	pipelineRetry = 20 * time.Millisecond
)

// pipeline is a compiled kernel.
type pipeline struct {
	dev        *device
	id         id
	name       string
	maxThreads int
	record.Life
}

// Compile builds one kernel with exact arithmetic (no fast math).
func (d *device) Compile(src gpu.Source) (gpu.Pipeline, error) {
	if err := d.Enter(); err != nil {
		return nil, err
	}
	defer d.Leave()
	s := d.rt.begin()
	defer s.end()
	p, err := d.compile(s, src)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (d *device) compile(s *session, src gpu.Source) (*pipeline, error) {
	library, log := s.library(d.id, src.Text)
	if library == 0 {
		return nil, compileError(src, log)
	}
	defer s.release(library)
	name := s.string(src.Name)
	defer s.release(name)
	function := id(s.send(library, selNewFunction, uintptr(name)))
	if function == 0 {
		return nil, &gpu.CompileError{Kernel: src.Name, Log: "the text has no kernel of this name"}
	}
	defer s.release(function)

	o, log := s.pipeline(d.id, function)
	if o == 0 {
		time.Sleep(pipelineRetry)
		o, log = s.pipeline(d.id, function)
	}
	if o == 0 {
		return nil, compileError(src, log)
	}
	if width := s.send(o, selExecutionWidth); width != simdWidth {
		s.release(o)
		return nil, fmt.Errorf("%w: %s: a SIMD-group has %d threads, not %d", gpu.ErrUnsupported, src.Name, width, simdWidth)
	}
	p := &pipeline{dev: d, id: o, name: src.Name, maxThreads: int(s.send(o, selMaxThreads))}
	p.Begin(p.free)
	return p, nil
}

// library compiles text; when it fails it returns the compiler's log.
func (s *session) library(dev id, text string) (id, string) {
	options := id(s.send(s.rt.classOptions, selNew))
	defer s.release(options)
	if s.responds(options, selSetMathMode) {
		s.send(options, selSetMathMode, mathModeSafe)
	} else {
		s.send(options, selSetFastMath, 0)
	}
	s.send(options, selSetLanguageVersion, language31)
	source := s.string(text)
	defer s.release(source)
	return s.withError(dev, selNewLibrary, uintptr(source), uintptr(options))
}

func (s *session) pipeline(dev, function id) (id, string) {
	return s.withError(dev, selNewPipeline, uintptr(function))
}

// withError sends a message whose last argument says where an NSError goes. When it returns nil it returns its text.
func (s *session) withError(to id, sel selector, args ...uintptr) (id, string) {
	s.nserr = 0
	o := id(s.send(to, sel, append(args, uintptr(unsafe.Pointer(&s.nserr)))...))
	runtime.KeepAlive(s)
	if o != 0 {
		return o, ""
	}
	if s.nserr == 0 {
		return 0, "Metal gives no reason"
	}
	return 0, s.text(id(s.send(id(s.nserr), selLocalizedDescription)))
}

var logLine = regexp.MustCompile(`program_source:(\d+)(?::\d+)?:( (?:fatal )?error)?`)

func compileError(src gpu.Source, log string) *gpu.CompileError {
	return compilelog.Error(src, log, logLine)
}

// MaxThreads is the largest threadgroup this kernel can run with.
func (p *pipeline) MaxThreads() int { return p.maxThreads }

// Owner is the device that the kernel was built for.
func (p *pipeline) Owner() *device { return p.dev }

// Name is the kernel's.
func (p *pipeline) Name() string { return p.name }

func (p *pipeline) free() {
	s := p.dev.rt.begin()
	s.release(p.id)
	s.end()
}
