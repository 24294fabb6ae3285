//go:build linux

package emulator

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed src
var sources embed.FS

const libraryName = "libmetalemu.so"

// One translation unit: the standard headers are parsed once, not once a file.
const unitName = "metalemu.cpp"

// -fno-lifetime-dse: the header of an object (objc.h) outlives its constructor and destructor.
var buildFlags = []string{
	"-std=c++17", "-O2", "-g1", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", "-fno-lifetime-dse", "-Wall",
}

// Build compiles the emulator, unless this version of it is in the user's
// cache folder already, and returns the path of the shared library.
//
// It uses the compiler that $CXX names, else g++. Several processes may call
// it at once: one compiles, the others wait. It fails if there is no
// compiler, no cache folder, or if ctx ends.
func Build(ctx context.Context) (string, error) {
	compiler, err := findCompiler(ctx)
	if err != nil {
		return "", err
	}
	folder, err := libraryFolder(compiler)
	if err != nil {
		return "", err
	}
	library := filepath.Join(folder, libraryName)
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return "", fmt.Errorf("emulator: cache folder: %w", err)
	}
	unlock, err := lockFile(ctx, folder+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	if err := compileInto(ctx, compiler, folder); err != nil {
		return "", err
	}
	return library, nil
}

// compiler is a command line and what identifies the program behind it.
type compiler struct {
	command []string
	version string
}

func findCompiler(ctx context.Context) (compiler, error) {
	command := strings.Fields(os.Getenv("CXX"))
	if len(command) == 0 {
		command = []string{"g++"}
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return compiler{}, fmt.Errorf("emulator: no C++ compiler: %w (apt-get install g++, or set CXX)", err)
	}
	version, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return compiler{}, fmt.Errorf("emulator: %s --version: %w", path, err)
	}
	return compiler{command, string(version)}, nil
}

// libraryFolder is named by the hash of everything that decides the result.
func libraryFolder(c compiler) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("emulator: no cache folder: %w", err)
	}
	h := sha256.New()
	fmt.Fprintln(h, c.command, c.version, buildFlags)
	err = fs.WalkDir(sources, "src", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	name := hex.EncodeToString(h.Sum(nil)[:12])
	return filepath.Join(cache, "broadhead", "emulator", name), err
}

// lockFile waits for the lock without blocking a thread for good.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("emulator: lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("emulator: waiting for another process to build it: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// compileInto builds in a folder of its own and renames that, so that a
// library that is there is whole.
func compileInto(ctx context.Context, c compiler, folder string) error {
	temporary, err := os.MkdirTemp(filepath.Dir(folder), "building-")
	if err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	defer os.RemoveAll(temporary)
	src, err := fs.Sub(sources, "src")
	if err != nil {
		return err
	}
	if err := os.CopyFS(temporary, src); err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	files, err := fs.Glob(src, "*.cpp")
	if err != nil {
		return err
	}
	var unit strings.Builder
	for _, f := range files {
		fmt.Fprintf(&unit, "#include %q\n", f)
	}
	if err := os.WriteFile(filepath.Join(temporary, unitName), []byte(unit.String()), 0o600); err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	args := append(c.command[1:len(c.command):len(c.command)], buildFlags...)
	args = append(args, unitName, "-o", libraryName, "-ldl")
	cmd := exec.CommandContext(ctx, c.command[0], args...)
	cmd.Dir = temporary
	cmd.WaitDelay = time.Second // the compiler's children may hold its output open
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("emulator: %s: %w\n%s", strings.Join(c.command, " "), err, out)
	}
	if err := os.Rename(temporary, folder); err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	return nil
}
