//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/compilelog"
)

type nvrtcFunction int

const (
	nvrtcVersion nvrtcFunction = iota
	nvrtcGetErrorString
	nvrtcGetNumSupportedArchs
	nvrtcGetSupportedArchs
	nvrtcCreateProgram
	nvrtcDestroyProgram
	nvrtcCompileProgram
	nvrtcGetProgramLogSize
	nvrtcGetProgramLog
	nvrtcGetCUBINSize
	nvrtcGetCUBIN
	nvrtcGetPTXSize
	nvrtcGetPTX
	nvrtcCount
)

var nvrtcNames = [nvrtcCount]string{
	nvrtcVersion:              "nvrtcVersion",
	nvrtcGetErrorString:       "nvrtcGetErrorString",
	nvrtcGetNumSupportedArchs: "nvrtcGetNumSupportedArchs",
	nvrtcGetSupportedArchs:    "nvrtcGetSupportedArchs",
	nvrtcCreateProgram:        "nvrtcCreateProgram",
	nvrtcDestroyProgram:       "nvrtcDestroyProgram",
	nvrtcCompileProgram:       "nvrtcCompileProgram",
	nvrtcGetProgramLogSize:    "nvrtcGetProgramLogSize",
	nvrtcGetProgramLog:        "nvrtcGetProgramLog",
	nvrtcGetCUBINSize:         "nvrtcGetCUBINSize",
	nvrtcGetCUBIN:             "nvrtcGetCUBIN",
	nvrtcGetPTXSize:           "nvrtcGetPTXSize",
	nvrtcGetPTX:               "nvrtcGetPTX",
}

// compileOptions follow the architecture. Arithmetic is IEEE-754's: no contraction, subnormals kept, division and
// square root rounded correctly.
var compileOptions = []string{
	"--std=c++17", "--device-as-default-execution-space", "--fmad=false", "--ftz=false", "--prec-div=true",
	"--prec-sqrt=true", "--disable-warnings",
}

// nvrtc is the loaded compiler. It is safe for concurrent use.
type nvrtc struct {
	fn      [nvrtcCount]uintptr
	version string
	archs   []int32 // what it compiles for: 90 is sm_90
}

// loadNVRTC loads the compiler, once.
var loadNVRTC = sync.OnceValues(func() (*nvrtc, error) { return newNVRTC(compilerPaths()) })

func newNVRTC(paths []string) (*nvrtc, error) {
	library, err := loadFirst(paths)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoNVRTC, err)
	}
	c := new(nvrtc)
	if err := symbols(library, nvrtcNames[:], c.fn[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoNVRTC, err)
	}
	out := new([2]int32)
	c.call(nvrtcVersion, uintptr(unsafe.Pointer(&out[0])), uintptr(unsafe.Pointer(&out[1])))
	c.version = fmt.Sprintf("%d.%d", out[0], out[1])
	if c.call(nvrtcGetNumSupportedArchs, uintptr(unsafe.Pointer(&out[0]))) == 0 && out[0] > 0 {
		c.archs = make([]int32, out[0])
		if c.call(nvrtcGetSupportedArchs, uintptr(unsafe.Pointer(&c.archs[0]))) != 0 {
			c.archs = nil
		}
	}
	return c, nil
}

//go:uintptrescapes
func (c *nvrtc) call(f nvrtcFunction, args ...uintptr) uint32 {
	r, _, _ := purego.SyscallN(c.fn[f], args...)
	return uint32(r)
}

// target is the option that names the architecture: the device's own machine code if this compiler knows it, else the
// newest PTX both understand.
func (c *nvrtc) target(arch int) (option string, cubin bool) {
	newest := 0
	for _, a := range c.archs {
		if int(a) == arch {
			return "--gpu-architecture=sm_" + strconv.Itoa(arch), true
		}
		if int(a) < arch {
			newest = max(newest, int(a))
		}
	}
	if newest == 0 {
		newest = arch
	}
	return "--gpu-architecture=compute_" + strconv.Itoa(newest), false
}

// compile makes a module image for a target. A failure is a *gpu.CompileError with the compiler's log.
func (c *nvrtc) compile(src gpu.Source, text, option string, cubin bool) ([]byte, error) {
	source, name := cstring(text), cstring("kernel.cu")
	prog := new(uintptr)
	if r := c.call(nvrtcCreateProgram, uintptr(unsafe.Pointer(prog)), address(source), address(name), 0, 0, 0); r != 0 {
		return nil, &gpu.CompileError{Kernel: src.Name, Log: "NVRTC: " + c.text(r)}
	}
	defer c.call(nvrtcDestroyProgram, uintptr(unsafe.Pointer(prog)))
	texts := [][]byte{cstring(option)}
	for _, o := range compileOptions {
		texts = append(texts, cstring(o))
	}
	options := make([]uintptr, len(texts))
	for i, t := range texts {
		options[i] = address(t)
	}
	r := c.call(nvrtcCompileProgram, *prog, uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])))
	runtime.KeepAlive(texts)
	runtime.KeepAlive(source)
	runtime.KeepAlive(name)
	if r != 0 {
		log, _ := c.output(*prog, nvrtcGetProgramLogSize, nvrtcGetProgramLog)
		if len(log) <= 1 {
			log = cstring("NVRTC: " + c.text(r))
		}
		return nil, compileError(src, strings.TrimRight(string(log), "\x00"))
	}
	size, get := nvrtcGetPTXSize, nvrtcGetPTX
	if cubin {
		size, get = nvrtcGetCUBINSize, nvrtcGetCUBIN
	}
	image, r := c.output(*prog, size, get)
	if r != 0 || len(image) == 0 {
		return nil, &gpu.CompileError{Kernel: src.Name, Log: "NVRTC gives no image: " + c.text(r)}
	}
	return image, nil
}

// output reads a program's log or image.
func (c *nvrtc) output(prog uintptr, size, get nvrtcFunction) ([]byte, uint32) {
	n := new(uintptr)
	if r := c.call(size, prog, uintptr(unsafe.Pointer(n))); r != 0 || *n == 0 {
		return nil, r
	}
	b := make([]byte, *n)
	r := c.call(get, prog, address(b))
	runtime.KeepAlive(b)
	return b, r
}

func (c *nvrtc) text(result uint32) string {
	r, _, _ := purego.SyscallN(c.fn[nvrtcGetErrorString], uintptr(result))
	return textAt(r)
}

// cstring is a C string in the Go heap, which a Go stack is no part of.
//
//go:noinline
func cstring(s string) []byte { return append([]byte(s), 0) }

var logLine = regexp.MustCompile(textName + `\((\d+)\):( (?:catastrophic )?error)?`)

func compileError(src gpu.Source, log string) *gpu.CompileError {
	return compilelog.Error(src, log, logLine)
}
