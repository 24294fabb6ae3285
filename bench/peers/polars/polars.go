// Package polars runs the operations in Polars for Node.js, which times them inside its own process.
package polars

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/broadhead-go/broadhead/bench/peers/race"
	"github.com/broadhead-go/broadhead/bench/peers/work"
)

// Version is that of nodejs-polars.
const Version = "0.26.1"

//go:embed polars.cjs
var program []byte

// native is the package with the library for this platform. npm leaves it out by itself where it finds node too old,
// though the library runs.
var native = map[string]string{
	"linux/amd64": "linux-x64-gnu", "linux/arm64": "linux-arm64-gnu",
	"darwin/amd64": "darwin-x64", "darwin/arm64": "darwin-arm64", "windows/amd64": "win32-x64-msvc",
}

// Engine is a process of node.
type Engine struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	version string
}

// Open installs Polars into the user's cache folder, once, and starts it with a number of threads.
func Open(threads int) (*Engine, error) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%s is not installed (apt-get install nodejs npm, or https://nodejs.org): %w", tool, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "broadhead", "peers-polars-"+Version)
	if err := install(dir); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "polars.cjs")
	if err := os.WriteFile(file, program, 0o644); err != nil {
		return nil, err
	}
	e := &Engine{cmd: exec.Command("node", "--expose-gc", "--max-old-space-size=8192", file)}
	e.cmd.Env = append(os.Environ(), fmt.Sprintf("POLARS_MAX_THREADS=%d", threads))
	e.cmd.Stderr = os.Stderr
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.out = bufio.NewReaderSize(out, 1<<20)
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	a, err := e.ask(request{Do: "version"})
	e.version = a.Version
	return e, err
}

func install(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "installed")); err == nil {
		return nil
	}
	platform, ok := native[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return fmt.Errorf("nodejs-polars has no library for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", dir,
		"nodejs-polars@"+Version, "nodejs-polars-"+platform+"@"+Version)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install nodejs-polars: %w\n%s", err, out)
	}
	return os.WriteFile(filepath.Join(dir, "installed"), nil, 0o644)
}

type request struct {
	Do      string  `json:"do"`
	Path    string  `json:"path,omitempty"`
	Op      string  `json:"op,omitempty"`
	Type    string  `json:"type,omitempty"`
	Rows    int     `json:"rows,omitempty"`
	Half    any     `json:"half,omitempty"`
	Word    string  `json:"word,omitempty"`
	Set     []int64 `json:"set,omitempty"`
	Variant string  `json:"variant,omitempty"`
	N       int     `json:"n,omitempty"`
}

type answer struct {
	Error    string
	Version  string
	Nanos    float64
	Numbers  []float64
	Variants []string
}

func (e *Engine) ask(r request) (a answer, err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	if _, err := e.in.Write(append(line, '\n')); err != nil {
		return a, err
	}
	text, err := e.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("polars: %w", err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("polars answered %q: %w", text, err)
	}
	if a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
}

func (e *Engine) Name() string    { return "Polars" }
func (e *Engine) Version() string { return e.version }

// Close ends the process.
func (e *Engine) Close() error {
	if err := e.in.Close(); err != nil {
		return err
	}
	return e.cmd.Wait()
}

// Load reads a file of columns.
func (e *Engine) Load(_ *work.Group, path string) error {
	_, err := e.ask(request{Do: "load", Path: path})
	return err
}

// Unload drops them.
func (e *Engine) Unload() error {
	_, err := e.ask(request{Do: "unload"})
	return err
}

// Start prepares a case. Of Polars' engines it takes the fastest.
func (e *Engine) Start(c work.Case) (race.Runner, error) {
	if c.Polars == "" {
		return nil, race.ErrCannot
	}
	a, err := e.ask(request{Do: "start", Op: c.Polars, Type: c.Type.String(), Rows: c.Rows, Half: c.Half(), Word: work.Word(), Set: work.Set()})
	if err != nil {
		return nil, err
	}
	r := &runner{e: e, c: c}
	best := time.Duration(-1)
	var last error
	for _, v := range a.Variants {
		r.variant = v
		d := time.Duration(-1)
		for range 3 {
			var one time.Duration
			if one, last = r.Run(1); last != nil {
				break
			}
			if d < 0 || one < d {
				d = one
			}
		}
		if last == nil && (best < 0 || d < best) {
			best, r.chosen = d, v
		}
	}
	if best < 0 {
		return nil, last
	}
	r.variant = r.chosen
	return r, nil
}

type runner struct {
	e               *Engine
	c               work.Case
	variant, chosen string
}

func (r *runner) Variant() string { return r.variant }
func (r *runner) Close()          {}

func (r *runner) Run(n int) (time.Duration, error) {
	a, err := r.e.ask(request{Do: "run", Variant: r.variant, N: n})
	return time.Duration(a.Nanos), err
}

func (r *runner) Check() ([]float64, error) {
	a, err := r.e.ask(request{Do: "check"})
	return r.c.Agreed(a.Numbers), err
}
