//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/broadhead-go/broadhead/gpu"
)

//go:generate go run ../../bench ptx --out kernels/ptx.zst

// precompiledFile is an archive that Precompile wrote, or empty.
//
//go:embed kernels/ptx.zst
var precompiledFile []byte

// precompiledTarget is what the archive's kernels are for. The driver makes any later GPU's machine code of them.
const (
	precompiledTarget = "--gpu-architecture=compute_80"
	precompiledArch   = 80
)

// archive are kernels compiled beforehand, for machines without NVRTC.
type archive struct {
	compiler string // the version of NVRTC that made them
	kernels  []archiveEntry
	images   map[string][]byte // by key
}

// archiveHead precedes the images in an archive.
type archiveHead struct {
	Compiler string
	Kernels  []archiveEntry
}

type archiveEntry struct {
	Name string
	Key  string
	Size int
}

var errNoPrecompiled = errors.New("this program has no kernels compiled beforehand")

// openPrecompiled reads the program's archive, once.
var openPrecompiled = sync.OnceValues(func() (*archive, error) { return readArchive(precompiledFile) })

// Precompiled says whether the program has a kernel compiled beforehand, as it is now, for machines without NVRTC.
func Precompiled(kernel gpu.Source) bool {
	a, err := openPrecompiled()
	if err != nil {
		return false
	}
	prog, err := translate(kernel, false)
	return err == nil && a.images[precompiledKey(kernel.Name, prog)] != nil
}

// PrecompiledKernels is the number of kernels that the program has compiled beforehand, the driver's own one included.
func PrecompiledKernels() int {
	a, err := openPrecompiled()
	if err != nil {
		return 0
	}
	return len(a.images)
}

// precompiledKey names a kernel in an archive: the hash of everything compiled, so that another text finds nothing.
func precompiledKey(name string, prog program) string {
	return imageKey(name, prog.text, precompiledTarget, strings.Join(compileOptions, " "))
}

// Precompile compiles kernels, and the driver's own, with NVRTC on every core, and writes the archive that programs have
// with them (gpu/cuda/kernels/ptx.zst): PTX, of which a driver makes the code of any GPU of compute capability 8.0 and later if it
// is for the CUDA version of that NVRTC or a later one. It needs NVRTC and no GPU. Errors are those of the compiler, and
// w's.
func Precompile(w io.Writer, kernels []gpu.Source) error {
	c, err := loadNVRTC()
	if err != nil {
		return err
	}
	return c.precompile(w, kernels)
}

func (c *nvrtc) precompile(w io.Writer, kernels []gpu.Source) error {
	kernels = append([]gpu.Source{copyKernel}, kernels...)
	slices.SortFunc(kernels, func(a, b gpu.Source) int { return strings.Compare(a.Name, b.Name) })
	head := archiveHead{Compiler: c.version, Kernels: make([]archiveEntry, len(kernels))}
	images := make([][]byte, len(kernels))
	errs := make([]error, len(kernels))
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(kernels); i = int(next.Add(1)) - 1 {
				prog, err := translate(kernels[i], false)
				if err == nil {
					images[i], err = c.compile(kernels[i], prog.text, precompiledTarget, false)
				}
				errs[i] = err
				head.Kernels[i] = archiveEntry{kernels[i].Name, precompiledKey(kernels[i].Name, prog), len(images[i])}
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return writeArchive(w, head, images)
}

func writeArchive(w io.Writer, head archiveHead, images [][]byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(zstd.MaxWindowSize/64), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	_, err = z.Write(append(text, '\n'))
	for _, image := range images {
		if err == nil {
			_, err = z.Write(image)
		}
	}
	return errors.Join(err, z.Close())
}

func readArchive(file []byte) (*archive, error) {
	if len(file) == 0 {
		return nil, errNoPrecompiled
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	all, err := z.DecodeAll(file, nil)
	if err != nil {
		return nil, fmt.Errorf("the kernels compiled beforehand: %w", err)
	}
	text, rest, _ := bytes.Cut(all, []byte{'\n'})
	var head archiveHead
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("the kernels compiled beforehand: %w", err)
	}
	a := &archive{compiler: head.Compiler, kernels: head.Kernels, images: make(map[string][]byte, len(head.Kernels))}
	for _, k := range head.Kernels {
		if k.Size <= 0 || k.Size > len(rest) {
			return nil, fmt.Errorf("the kernels compiled beforehand end within %s", k.Name)
		}
		a.images[k.Key], rest = rest[:k.Size:k.Size], rest[k.Size:]
	}
	return a, nil
}

// find is a kernel as it is now. The error tells how to have it compiled.
func (a *archive) find(src gpu.Source, prog program) ([]byte, error) {
	if image := a.images[precompiledKey(src.Name, prog)]; image != nil {
		return image, nil
	}
	return nil, &gpu.CompileError{Kernel: src.Name, Log: fmt.Sprintf("it is not among the %d kernels compiled beforehand, and %s", len(a.images), howNVRTC)}
}
