package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// section is one part of the printed report: rows of cells, and lines below them.
type section struct {
	title string
	rows  [][]string
	lines []string
}

func (s *section) row(cells ...string) { s.rows = append(s.rows, cells) }

func (s *section) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// print writes the report for people.
func (r *report) print(w io.Writer) error {
	var out bytes.Buffer
	for _, part := range []func(*report) section{
		printProgram, printMachine, printDevices, printChoice, printCompiler, printMemory, printCrossovers,
		printEnvironment, printChecks, printMissing,
	} {
		s := part(r)
		fmt.Fprintf(&out, "%s\n", s.title)
		printRows(&out, s.rows)
		for _, l := range s.lines {
			fmt.Fprintf(&out, "  %s\n", strings.ReplaceAll(l, "\n", "\n    "))
		}
		out.WriteByte('\n')
	}
	_, err := w.Write(bytes.TrimRight(out.Bytes(), "\n"))
	if err == nil {
		_, err = io.WriteString(w, "\n")
	}
	return err
}

// printRows aligns cells in columns.
func printRows(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintf(t, "  %s\n", strings.Join(cells, "\t"))
	}
	_ = t.Flush() // to memory
}

func printProgram(r *report) section {
	s := section{title: "Broadhead"}
	version := r.Program.Version
	if r.Program.Revision != "" {
		version += " at " + r.Program.Revision
	}
	s.row("module", r.Program.Module+" "+version)
	s.row("arrow-go", r.Program.ArrowGo)
	s.row("Go", r.Program.Go)
	return s
}

func printMachine(r *report) section {
	s := section{title: "Machine"}
	s.row("system", r.Machine.OS+"/"+r.Machine.Arch)
	cpu := r.Machine.CPU
	if len(r.Machine.Vectors) > 0 {
		cpu += " (" + strings.Join(r.Machine.Vectors, ", ") + ")"
	}
	s.row("CPU", cpu)
	s.row("cores", fmt.Sprintf("%d, GOMAXPROCS %d", r.Machine.Cores, r.Machine.GOMAXPROCS))
	return s
}

func printDevices(r *report) section {
	s := section{title: "Devices"}
	s.line("linked drivers: %s", listed(r.Drivers))
	for _, d := range r.Devices {
		if d.Error != "" {
			s.line("%s: none: %s", d.Name, d.Error)
			continue
		}
		memory := "memory of its own"
		if d.Unified {
			memory = "memory shared with the CPU"
		}
		s.line("%s: %s, driver %s\n%s of %s, one buffer at most %s, page %s\nSIMD width %d, threadgroup memory %s, capabilities: %s",
			d.Name, d.Model, d.Driver, sized(d.MemoryBytes), memory, sized(d.MaxBufferBytes), sized(int64(d.PageSize)),
			d.SIMDWidth, sized(int64(d.ThreadgroupBytes)), listed(d.Capabilities))
	}
	return s
}

func printChoice(r *report) section {
	s := section{title: "Chosen device"}
	s.row("device", r.Chosen.Device)
	s.row("because", strings.ReplaceAll(r.Chosen.Why, "\n", "; "))
	polling := "waiters block at once"
	if r.Waiting.LowLatency {
		polling = fmt.Sprintf("waiters poll for %d µs, then block", r.Waiting.SpinMicroseconds)
	}
	s.row("waiting", polling+"; a silent device is given up after "+r.Waiting.CommandTimeout)
	return s
}

func printCompiler(r *report) section {
	s := section{title: "C++ compiler (for the Metal emulator on Linux only)"}
	s.row("command", r.Compiler.Command)
	if r.Compiler.Error != "" {
		s.row("found", "no: "+r.Compiler.Error)
		s.row("install", compilerHow)
		return s
	}
	s.row("found", r.Compiler.Path)
	s.row("version", r.Compiler.Version)
	return s
}

func printMemory(r *report) section {
	s := section{title: "Allocator (memory.New on the chosen device)"}
	s.row("memory", r.Memory.Kind)
	if r.Memory.Error != "" {
		s.row("error", r.Memory.Error)
	}
	s.row("a column", fmt.Sprintf("of %s takes %s in %s", sized(r.Memory.BlockBytes), sized(r.Memory.ReservedBytes), plural(r.Memory.Arenas, "arena")))
	huge := "this system does not tell"
	if mode := r.Memory.HugePageMode; mode != "" {
		huge = fmt.Sprintf("%s of it in huge pages; the kernel's setting is %s", sized(r.Memory.HugeBytes), mode)
	}
	s.row("huge pages", huge)
	return s
}

func printCrossovers(r *report) section {
	s := section{title: "Crossovers in force (rows from which the device is used)"}
	if len(r.Crossovers) == 0 {
		s.line("none: there is no device, so every call runs on the CPU")
		return s
	}
	s.row("function", "bytes a value", "device memory", "foreign memory", "from")
	for _, c := range r.Crossovers {
		width := fmt.Sprint(c.Width)
		if c.Width == 0 {
			width = "1 bit"
		}
		s.row(c.Function, width, limit(c.Device), limit(c.Foreign), c.From)
	}
	return s
}

func printEnvironment(r *report) section {
	s := section{title: "Environment"}
	for _, v := range r.Environment {
		value := "not set"
		if v.Set {
			value = fmt.Sprintf("%q", v.Value)
		}
		s.row(v.Name, value, v.Meaning)
		if v.Problem != "" {
			s.row("", "faulty:", strings.ReplaceAll(v.Problem, "\n", "; "))
		}
	}
	return s
}

func printChecks(r *report) section {
	s := section{title: "Checks (1,000 rows of int64)"}
	for _, c := range r.Checks {
		verdict := "ok"
		if !c.OK {
			verdict = "BROKEN"
		}
		s.row(c.Function, verdict, c.Answer)
	}
	if len(r.Kernels) == 0 {
		s.line("kernel caches: none, since no device was used")
	}
	for _, k := range r.Kernels {
		s.line("kernel cache of %s: %s compiled, %s found ready", k.Device, plural(int(k.Builds), "kernel"), plural(int(k.Hits), "kernel"))
	}
	return s
}

func printMissing(r *report) section {
	s := section{title: "What is missing and how to get it"}
	for _, a := range r.Missing {
		s.line("- %s\n-> %s", strings.ReplaceAll(a.What, "\n", "; "), a.How)
	}
	if len(r.Missing) == 0 {
		s.line("nothing")
	}
	return s
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func limit(rows *int64) string {
	if rows == nil {
		return "never"
	}
	return grouped(*rows)
}
