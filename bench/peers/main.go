// Command peers races Broadhead against arrow-go, DuckDB, Polars and the machine's memory, in one run, and prints how
// they compare. It needs a C compiler for DuckDB and the floor, and node with npm for Polars; without node the race is
// run without Polars, and the report says so.
//
//	go run . -rows 1e3,1e5,1e7
//
// The report is written to -out as .json, .md and one .svg for each number of rows. With -add, cases that are not
// measured now stay in it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/bench/peers/duck"
	"github.com/broadhead-go/broadhead/bench/peers/floor"
	"github.com/broadhead-go/broadhead/bench/peers/polars"
	"github.com/broadhead-go/broadhead/bench/peers/race"
	"github.com/broadhead-go/broadhead/bench/peers/report"
	"github.com/broadhead-go/broadhead/bench/peers/work"
	"github.com/broadhead-go/broadhead/memory"
)

// engine is a participant.
type engine interface {
	Name() string
	Version() string
	Load(g *work.Group, path string) error
	Start(c work.Case) (race.Runner, error)
	Unload() error
	Close() error
}

// smallRows is the size up to which only the Go engines run: for the others a call costs more than its work.
const smallRows = 10_000

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	rowList := flags.String("rows", "1e3,1e5,1e7", "numbers of rows")
	ops := flags.String("ops", "", "operations (default all)")
	types := flags.String("types", "", "types (default all)")
	only := flags.String("engines", "", "engines (default all): "+strings.Join(report.Columns, "; "))
	rounds := flags.Int("rounds", 9, "samples of each engine")
	sample := flags.Duration("sample", 5*time.Millisecond, "least time of a sample")
	out := flags.String("out", "../results/cpu-peers/run", "files to write, without their ending")
	add := flags.Bool("add", false, "keep the cases of an earlier report that are not measured now")
	before := flags.String("before", "", "the .json of an earlier report: print what has changed since")
	if err := flags.Parse(args); err != nil {
		return err
	}
	rows, err := sizes(*rowList)
	if err != nil {
		return err
	}
	rep := new(report.Report)
	if *add {
		if rep, err = report.Load(*out + ".json"); err != nil {
			return err
		}
	}
	rep.Machine, rep.Date, rep.Command = machine(), time.Now().Format(time.DateOnly), "go run . "+strings.Join(args, " ")
	rep.Versions, rep.Missing, rep.Notes = map[string]string{}, map[string]string{}, map[string]string{}
	var order []string
	for _, op := range work.Ops {
		order = append(order, op.Name)
		if op.Note != "" {
			rep.Notes[op.Name] = op.Note
		}
	}
	engines := open(rep, *only)
	defer func() {
		for _, e := range engines {
			_ = e.Close()
		}
	}()
	for name, why := range rep.Missing {
		fmt.Fprintf(os.Stderr, "%s is missing: %s\n", name, why)
	}
	settings := race.Settings{Rounds: *rounds, Sample: *sample, Limit: 150 * time.Millisecond}
	groups := work.Groups(rows, func(op, typ string) bool { return listed(*ops, op) && listed(*types, typ) })
	for _, g := range groups {
		if err := measure(ctx, rep, settings, engines, g); err != nil {
			return err
		}
		if err := save(rep, *out); err != nil { // what was measured stays, should the rest be interrupted
			return err
		}
	}
	rep.Sort(order)
	if err := save(rep, *out); err != nil {
		return err
	}
	rep.Markdown(os.Stdout)
	if *before == "" {
		return nil
	}
	old, err := report.Load(*before)
	if err != nil {
		return err
	}
	for _, n := range rep.Sizes() {
		fmt.Printf("\n## Before and now, %d rows\n\n", n)
		rep.Compare(os.Stdout, old, n)
	}
	return nil
}

func listed(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

func sizes(list string) (rows []int, err error) {
	for _, s := range strings.Split(list, ",") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f < 1 || f != float64(int(f)) {
			return nil, fmt.Errorf("%q is no number of rows", s)
		}
		rows = append(rows, int(f))
	}
	return rows, nil
}

// open starts the engines. One that cannot start is noted, and the others race without it.
func open(rep *report.Report, only string) (all []engine) {
	starts := []struct {
		name string
		open func() (engine, error)
	}{
		{report.Ours, func() (engine, error) { return work.Broadhead(report.Ours, memory.New(nil)), nil }},
		{report.OursOnGo, func() (engine, error) { return work.Broadhead(report.OursOnGo, arrowmem.DefaultAllocator), nil }},
		{"arrow-go", func() (engine, error) { return work.ArrowGo(versionOf("github.com/apache/arrow-go/v18")), nil }},
		{"DuckDB", func() (engine, error) { return duck.Open(2) }},
		{"Polars", func() (engine, error) { return polars.Open(2) }},
		{report.Floor1, func() (engine, error) { return floor.Open(1) }},
		{report.Floor2, func() (engine, error) { return floor.Open(2) }},
	}
	for _, s := range starts {
		if only != "" && !slices.Contains(strings.Split(only, ";"), s.name) {
			rep.Missing[s.name] = "not asked for"
			continue
		}
		e, err := s.open()
		if err != nil {
			rep.Missing[s.name] = err.Error()
			continue
		}
		rep.Versions[s.name] = e.Version()
		all = append(all, e)
	}
	return all
}

// measure runs the cases of a group. Columns travel to the engines in a file that all can read.
func measure(ctx context.Context, rep *report.Report, s race.Settings, engines []engine, g *work.Group) error {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := g.Parquet(dir)
	if err != nil {
		return err
	}
	var loaded []engine
	defer func() {
		for _, e := range loaded {
			_ = e.Unload()
		}
		g.Release()
		debug.FreeOSMemory()
	}()
	failed := map[string]string{}
	for _, e := range engines {
		if _, goes := e.(*work.GoEngine); !goes && g.Rows <= smallRows {
			continue
		}
		if err := e.Load(g, path); err != nil {
			failed[e.Name()] = err.Error()
			continue
		}
		loaded = append(loaded, e)
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	for _, c := range g.Cases() {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := report.Row{Op: c.Name, Type: c.TypeName(), Rows: c.Rows, Nulls: c.Nulls, Bytes: c.BytesMoved()}
		var entries []race.Entry
		for _, e := range loaded {
			entries = append(entries, race.Entry{Name: e.Name(), Start: func() (race.Runner, error) { return e.Start(c) }})
		}
		runtime.GC()
		row.Outcome = race.Run(s, entries)
		for name, why := range failed {
			row.Missing[name] = why
		}
		rep.Add(row)
		peer, floor := row.Ratio()
		fmt.Fprintf(os.Stderr, "%d rows, %s %s, nulls %v: %s ms, %.2f of the best peer, %.2f of the floor\n",
			row.Rows, row.Op, row.Type, row.Nulls, report.Millis(row.Times[report.Ours].Median), peer, floor)
	}
	return nil
}

func save(rep *report.Report, out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	if err := rep.Save(out + ".json"); err != nil {
		return err
	}
	f, err := os.Create(out + ".md")
	if err != nil {
		return err
	}
	rep.Markdown(f)
	if err := f.Close(); err != nil {
		return err
	}
	for _, n := range rep.Sizes() {
		if err := rep.Plot(fmt.Sprintf("%s-%d.svg", out, n), n); err != nil {
			return err
		}
	}
	return nil
}

// machine describes this one.
func machine() string {
	s := fmt.Sprintf("%d-core shared %s %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, key := range []string{"model name", "cpu family", "model\t"} {
			if _, rest, ok := strings.Cut(string(text), "\n"+key); ok {
				_, value, _ := strings.Cut(strings.SplitN(rest, "\n", 2)[0], ":")
				s += ", " + strings.TrimSpace(key) + " " + strings.TrimSpace(value)
			}
		}
	} else if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		s += ", " + strings.TrimSpace(string(out))
	}
	return s
}

// versionOf is the version of a module in this program.
func versionOf(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == path {
				return d.Version
			}
		}
	}
	return ""
}
