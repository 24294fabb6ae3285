package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
	"github.com/broadhead-go/broadhead/msl"
)

const (
	modulePath   = "github.com/broadhead-go/broadhead"
	emulatorName = "emulator"
	cpuName      = "cpu"
)

// examine looks at everything. Opening the drivers may take a while.
func examine(ctx context.Context) *report {
	r := &report{Program: examineProgram(), Machine: examineMachine(), Drivers: gpu.Drivers(), Devices: examineDevices()}
	var dev gpu.Device
	dev, r.Chosen = examineChoice(r.Devices)
	r.Waiting = waiting{gpu.LowLatencyWait(), gpu.SpinMicroseconds(), gpu.CommandTimeout().String()}
	r.Compiler = examineCompiler(ctx)
	r.Memory = examineMemory(dev)
	if dev != nil {
		r.Crossovers = examineCrossovers(dev.Info())
	}
	r.Environment = examineEnvironment()
	r.Checks = examineAnswers(ctx, dev, r.Chosen)
	for _, p := range compute.Pipelines() {
		r.Kernels = append(r.Kernels, kernels(p))
	}
	r.Missing = advise(r)
	return r
}

func examineProgram() program {
	p := program{Module: modulePath, Version: "unknown", Go: runtime.Version(), ArrowGo: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	for _, m := range append(info.Deps, &info.Main) {
		switch m.Path {
		case modulePath:
			p.Version = m.Version
		case "github.com/apache/arrow-go/v18":
			p.ArrowGo = m.Version
		}
	}
	if p.Version == "" {
		p.Version = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			p.Revision = s.Value
		}
	}
	return p
}

func examineMachine() machine {
	m := machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuid.CPU.BrandName,
		Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
	for _, f := range []cpuid.FeatureID{cpuid.AVX2, cpuid.AVX512F, cpuid.ASIMD} {
		if cpuid.CPU.Supports(f) {
			m.Vectors = append(m.Vectors, f.String())
		}
	}
	return m
}

var capabilityNames = []struct {
	cap  msl.Caps
	name string
}{{msl.Float64, "float64"}, {msl.Atomic64, "atomic64"}, {msl.ForwardProgress, "forward-progress"}}

func examineDevices() []device {
	var out []device
	for _, c := range gpu.Devices() {
		d := device{
			Name: c.Name, Driver: c.Driver, Model: c.Info.Name, Unified: c.Info.Unified,
			SIMDWidth: c.Info.SIMDWidth, ThreadgroupBytes: c.Info.ThreadgroupBytes, PageSize: c.Info.PageSize,
			MemoryBytes: c.Info.MemoryBytes, MaxBufferBytes: c.Info.MaxBufferBytes,
		}
		for _, n := range capabilityNames {
			if c.Info.Caps&n.cap != 0 {
				d.Capabilities = append(d.Capabilities, n.name)
			}
		}
		if c.Err != nil {
			d.Error = c.Err.Error()
		}
		out = append(out, d)
	}
	return out
}

func examineChoice(devices []device) (gpu.Device, chosen) {
	asked := os.Getenv("BROADHEAD_DEVICE")
	dev, err := gpu.Default()
	if err != nil {
		return nil, chosen{Device: cpuName, Why: err.Error()}
	}
	c := chosen{Device: dev.Info().Driver, Driver: dev.Info().Driver, Why: "the best real device of the linked drivers"}
	for _, d := range devices {
		if same, err := gpu.Open(d.Name); err == nil && same == dev {
			c.Device = d.Name
		}
	}
	if asked != "" {
		c.Why = "BROADHEAD_DEVICE=" + asked
	}
	return dev, c
}

// examineCompiler looks for the compiler of the emulator as the emulator does.
func examineCompiler(ctx context.Context) compiler {
	command := strings.Fields(os.Getenv("CXX"))
	if len(command) == 0 {
		command = []string{"g++"}
	}
	c := compiler{Command: strings.Join(command, " ")}
	path, err := exec.LookPath(command[0])
	if err != nil {
		c.Error = err.Error()
		return c
	}
	c.Path = path
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		c.Error = err.Error()
		return c
	}
	first, _, _ := bytes.Cut(out, []byte("\n"))
	c.Version = string(first)
	return c
}

// examineMemory writes a block of a device's (or the CPU's) allocator and looks what it is made of.
func examineMemory(dev gpu.Device) (a allocator) {
	const block = 16 << 20
	a.Kind = "plain memory"
	if dev != nil {
		a.Kind = "shared memory of " + dev.Info().Driver
	}
	if mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled"); err == nil {
		_, rest, _ := strings.Cut(string(mode), "[")
		a.HugePageMode, _, _ = strings.Cut(rest, "]")
	}
	mem := memory.New(dev)
	before := hugeBytes()
	b, err := mem.TryAllocateUninitialized(block)
	if err != nil {
		a.Error = err.Error()
		return a
	}
	clear(b)
	a.HugeBytes = max(0, hugeBytes()-before)
	s := mem.Stats()
	a.BlockBytes, a.ReservedBytes, a.Arenas = s.Active, s.Reserved, s.Arenas
	mem.Free(b)
	if err := mem.Close(); err != nil {
		a.Error = err.Error()
	}
	return a
}

// hugeBytes is how much of this process lies in transparent huge pages, 0 where the system does not tell.
func hugeBytes() int64 {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "AnonHugePages:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

func examineCrossovers(dev gpu.Info) []crossover {
	var out []crossover
	for _, c := range compute.Crossovers(dev) {
		if n := len(out); n == 0 || out[n-1].Function != c.Function {
			out = append(out, crossover{Function: c.Function, Width: c.Width, From: c.From})
		}
		if c.Rows == compute.Never {
			continue
		}
		last := &out[len(out)-1]
		if c.Place == compute.HostMemory {
			last.Device = &c.Rows
		} else {
			last.Foreign = &c.Rows
		}
	}
	return out
}

// settings are the variables that the packages read.
var settings = []variable{
	{Name: "BROADHEAD_DEVICE", Meaning: "the device: cpu, metal, cuda, emulator, or one by number, as in metal:0"},
	{Name: "BROADHEAD_CROSSOVER", Meaning: "rows from which the device is used, or never; for all functions, or as in sum=1000,add=never"},
	{Name: "BROADHEAD_LOW_LATENCY", Meaning: "whether waiters poll (1) or block at once (0)"},
	{Name: "BROADHEAD_SPIN_US", Meaning: "how many microseconds waiters poll"},
}

// emulatorSettings are shown where they are set.
var emulatorSettings = []variable{
	{Name: "METALEMU_DEVICES", Meaning: "number of emulated devices"},
	{Name: "METALEMU_OPTIONS", Meaning: "options of the emulator, as gpu/metal/emulator/src/control.h lists them"},
	{Name: "METALEMU_CXX", Meaning: "the compiler of the emulator's kernels; the default is CXX, then g++"},
	{Name: "METALEMU_CACHE", Meaning: "folder of the emulator's compiled kernels"},
}

// examineEnvironment must come after everything that reads the variables.
func examineEnvironment() []variable {
	problems := gpu.EnvErrors()
	if err := compute.EnvError(); err != nil {
		problems = append(problems, err)
	}
	if _, err := gpu.Default(); err != nil {
		problems = append(problems, err)
	}
	out := append([]variable(nil), settings...)
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "BROADHEAD_") || strings.HasPrefix(name, "BROADHEAD_TEST_") {
			continue
		}
		known := false
		for i := range out {
			if out[i].Name == name {
				out[i].Value, out[i].Set, known = value, true, true
			}
		}
		if !known {
			out = append(out, variable{Name: name, Value: value, Set: true, Problem: "no such variable: check its spelling"})
		}
	}
	for _, v := range emulatorSettings {
		if v.Value, v.Set = os.LookupEnv(v.Name); v.Set {
			out = append(out, v)
		}
	}
	for i := range out {
		v := &out[i]
		if !v.Set || v.Value == "" || v.Name == "BROADHEAD_DEVICE" && strings.EqualFold(strings.TrimSpace(v.Value), cpuName) {
			continue
		}
		for _, p := range problems {
			if strings.Contains(p.Error(), v.Name+"=") || strings.Contains(p.Error(), v.Name+":") {
				v.Problem = p.Error()
			}
		}
	}
	return out
}

// examineAnswers computes a small column of each kind of function on the CPU and, if there is one, on the device.
func examineAnswers(ctx context.Context, dev gpu.Device, on chosen) []check {
	var out []check
	mem := memory.New(dev)
	defer mem.Close()
	for i := range workloads {
		w := &workloads[i]
		if !w.crossover {
			continue
		}
		c := check{Function: w.function, Device: on.Device, OK: true}
		var err error
		if c.Answer, err = safely(func() (string, error) { return w.compare(ctx, mem, dev) }); err != nil {
			c.OK, c.Answer = false, err.Error()
		}
		out = append(out, c)
	}
	return out
}

// safely makes a panic an error: a doctor reports what is broken, and goes on.
func safely(try func() (string, error)) (answer string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return try()
}
