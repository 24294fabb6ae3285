//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/ebitengine/purego"
)

// envNVRTC names the NVRTC library to load before any other.
const envNVRTC = "BROADHEAD_NVRTC"

// driverPaths are where the NVIDIA driver's library may be. The loader's own path comes first.
var driverPaths = []string{
	"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/local/nvidia/lib/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1",
}

// compilerNames are NVRTC's, the newest first. A driver runs what an NVRTC of its own major version or an older one made.
var compilerNames = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}

// loadFirst loads the first library that can be; the error is what the loader said of the first path.
func loadFirst(paths []string) (uintptr, error) {
	var why error
	for _, path := range paths {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return handle, nil
		}
		if why == nil {
			why = err
		}
	}
	return 0, why
}

// compilerPaths lists where NVRTC may be: the loader's path, the toolkit's folders, and the packages of Python, which
// is how most machines with PyTorch or CuPy have it.
func compilerPaths() []string {
	if named := os.Getenv(envNVRTC); named != "" {
		return []string{named}
	}
	paths := slices.Clone(compilerNames)
	for _, pattern := range compilerPatterns() {
		for _, name := range compilerNames[:len(compilerNames)-1] {
			found, _ := filepath.Glob(filepath.Join(pattern, name)) // the patterns are well formed
			slices.Sort(found)
			slices.Reverse(found)
			paths = append(paths, found...)
		}
	}
	return paths
}

func compilerPatterns() []string {
	patterns := []string{"/usr/local/cuda/lib64", "/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/opt/cuda/lib64"}
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"} {
		if dir := os.Getenv(variable); dir != "" {
			patterns = append(patterns, filepath.Join(dir, "lib64"), filepath.Join(dir, "lib"))
		}
	}
	if path, err := exec.LookPath("nvcc"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			root := filepath.Dir(filepath.Dir(path))
			patterns = append(patterns, filepath.Join(root, "lib64"), filepath.Join(root, "targets/*/lib"))
		}
	}
	prefixes := []string{"/usr", "/usr/local"}
	if dir := os.Getenv("VIRTUAL_ENV"); dir != "" {
		prefixes = append([]string{dir}, prefixes...)
	}
	if path, err := exec.LookPath("python3"); err == nil {
		prefixes = append([]string{filepath.Dir(filepath.Dir(path))}, prefixes...)
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	for _, prefix := range prefixes {
		patterns = append(patterns, filepath.Join(prefix, "lib/python3*/site-packages/nvidia/*/lib"),
			filepath.Join(prefix, "lib/python3*/dist-packages/nvidia/*/lib"))
	}
	return patterns
}

// symbols looks up functions by name into a table.
func symbols(library uintptr, names []string, into []uintptr) error {
	for i, name := range names {
		var err error
		if into[i], err = purego.Dlsym(library, name); err != nil {
			return fmt.Errorf("the library lacks %s: %w", name, err)
		}
	}
	return nil
}
