//go:build (linux || darwin) && (amd64 || arm64)

// Command completion measures how long a finished GPU request waits until its client has the answer, while the same
// process keeps a second device busy with long native calls:
//
//	go run ./bench/completion                 # smoke run, about 5 minutes; its verdict may be inconclusive
//	go run ./bench/completion --full          # about 100 minutes on 2 cores; goes on where it was broken off
//	go run ./bench/completion analyze DIR     # results.json, tables.md and a plot from the raw files of a run
//	go run ./bench/completion analyze --check DIR
//	go run ./bench/completion leak            # memory over 20,000 native calls on a worker thread
//
// Four configurations place the native call: A in the process, holding its processor; B in a worker process; C in the
// process, released; D in slices with progress points, as the engine's own kernels are. Each is measured alone, together
// with the GPU, and with the GPU at a fixed rate, under three pressures: one processor, as many loads as processors, and
// constant garbage collection. The GPU is the best there is; without one it is the emulator of Metal with a fixed service
// time, and every result says so. criteria.json was fixed before the runs.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	callTime  = 10 * time.Millisecond
	liveBytes = 20 << 20 // what each garbage collection must keep
)

// size says how much a run measures.
type size struct {
	flag          string
	cycles        int
	service       time.Duration // of a GPU request
	window, probe lengths
}

var (
	smoke = size{"", 1, 4 * time.Millisecond,
		lengths{warm: 400 * time.Millisecond, measure: 4500 * time.Millisecond, guard: 100 * time.Millisecond},
		lengths{warm: 300 * time.Millisecond, measure: 2 * time.Second, guard: 100 * time.Millisecond}}
	whole = size{"--full", 3, 4 * time.Millisecond,
		lengths{settle: 2 * time.Second, warm: 2 * time.Second, measure: 20 * time.Second, guard: 400 * time.Millisecond},
		lengths{settle: 300 * time.Millisecond, warm: 500 * time.Millisecond, measure: 10 * time.Second, guard: 200 * time.Millisecond}}
	part = size{"--subset", 1, time.Millisecond,
		lengths{warm: 200 * time.Millisecond, measure: 1800 * time.Millisecond, guard: 50 * time.Millisecond},
		lengths{warm: 100 * time.Millisecond, measure: time.Second, guard: 50 * time.Millisecond}}
)

func main() {
	if err := command(os.Stdout).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "completion:", err)
		os.Exit(1)
	}
}

func command(out io.Writer) *cobra.Command {
	var full, subset, check bool
	var folder, config, model string
	var rows, calls int
	root := &cobra.Command{
		Use: "completion", Short: "Measure how long finished GPU requests wait", SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			size := smoke
			switch {
			case full && subset:
				return errors.New("--full and --subset exclude each other")
			case full:
				size = whole
			case subset:
				size = part
			}
			if model != "" {
				p, err := coreMLPlacement(model)
				if err != nil {
					return err
				}
				placements = append(placements, p)
			}
			return runAll(out, folder, size)
		},
	}
	root.Flags().BoolVar(&full, "full", false, "long windows and three cycles")
	root.Flags().BoolVar(&subset, "subset", false, "short requests in short windows, under 5 minutes, for a GPU that is lent by the minute")
	root.PersistentFlags().StringVar(&model, "model", "", "a compiled Core ML model (.mlmodelc): adds configuration M (macOS with cgo)")
	root.Flags().StringVar(&folder, "out", "completion-results", "folder of the raw files and results")
	derive := &cobra.Command{
		Use: "analyze DIR", Short: "Make the tables of a run", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := analyze(args[0], check)
			if err == nil {
				fmt.Fprintf(out, "%s: %s\n", args[0], r.Verdict.Verdict)
			}
			return err
		},
	}
	derive.Flags().BoolVar(&check, "check", false, "only check that the files there follow from the raw ones")
	leaks := &cobra.Command{
		Use: "leak", Short: "Watch the memory over many native calls", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if calls < leakLooks {
				return fmt.Errorf("%d calls are too few: at least %d", calls, leakLooks)
			}
			call := releasedCalls()
			if model != "" {
				p, err := coreMLPlacement(model)
				if err != nil {
					return err
				}
				l, err := p.open(0)
				if err != nil {
					return err
				}
				defer l.close()
				call = func() error {
					_, _, _, err := l.do()
					return err
				}
			}
			return leak(out, calls, call)
		},
	}
	leaks.Flags().IntVar(&calls, "calls", leakCalls, "how many")
	worker := &cobra.Command{Use: "worker", Hidden: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return work(rows) }}
	start := &cobra.Command{Use: "startup", Hidden: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return startup(config, rows) }}
	for _, c := range []*cobra.Command{worker, start} {
		c.Flags().IntVar(&rows, "rows", matrixWidth, "of the matrix")
	}
	start.Flags().StringVar(&config, "config", "A", "configuration")
	root.AddCommand(derive, leaks, worker, start)
	root.SetOut(out)
	return root
}

// runAll measures what a folder lacks and makes its tables.
func runAll(out io.Writer, folder string, size size) error {
	began := time.Now()
	server, label, err := openDevice(size.service)
	if err != nil {
		return err
	}
	defer server.close()
	debug.SetGCPercent(400)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	raw, probe := rawFile{filepath.Join(folder, rawName)}, rawFile{filepath.Join(folder, probeName)}
	h := &harness{server: server, lengths: size.window, live: make([]byte, liveBytes)}
	head, _, err := raw.read()
	switch {
	case os.IsNotExist(err):
		m := newMatrices(make([]byte, matrixBytes))
		call := m.calibrate(callTime)
		head = header{Criteria: criteriaHash(), Machine: machine(), Device: label, Cores: runtime.NumCPU(), Go: runtime.Version(),
			Platform: runtime.GOOS + "/" + runtime.GOARCH, Began: began.UTC().Format(time.RFC3339),
			Command: strings.TrimSpace("bench/completion " + size.flag),
			Service: float64(size.service) / 1e6, CallMs: float64(call) / 1e6, Rows: m.rows}
		for _, f := range []rawFile{raw, probe} {
			if err := f.add(head); err != nil {
				return err
			}
		}
	case err != nil:
		return err
	case head.Criteria != criteriaHash() || head.Device != label || head.Cores != runtime.NumCPU() || head.Service != float64(size.service)/1e6:
		return fmt.Errorf("%s was begun under other criteria, with other requests or on another machine; choose another --out", folder)
	}
	h.rows = head.Rows
	call := time.Duration(head.CallMs * 1e6)
	fmt.Fprintf(out, "GPU: %s. Second device: %.1f ms a call. Results in %s\n", label, head.CallMs, folder)
	if err := h.run(out, raw, plan(size.cycles)); err != nil {
		return err
	}
	h.lengths = size.probe
	if err := h.probe(out, probe, call); err != nil {
		return err
	}
	costs, err := startupCosts(head.Rows)
	if err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(folder, startupName), costs); err != nil {
		return err
	}
	r, err := analyze(folder, false)
	if err != nil {
		return err
	}
	r.report(out)
	fmt.Fprintf(out, "%s in %v; tables in %s\n", r.Verdict.Verdict, time.Since(began).Round(time.Second), filepath.Join(folder, tablesName))
	return nil
}

// report says what the verdict rests on.
func (r *results) report(out io.Writer) {
	for _, j := range slices.Concat(r.Verdict.Doubts, r.Verdict.Findings) {
		if !j.Met {
			fmt.Fprintf(out, "not met: %s, %s %s: %.3f, limit %.3f\n", j.Criterion, j.Pressure, j.Cell, j.Value, j.Limit)
		}
	}
}
