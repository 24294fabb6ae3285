package compute

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// Never is the crossover of what the GPU does not win at any size.
const Never int64 = math.MaxInt64

// crossClass groups functions that move the same bytes for the same work, and so share a crossover.
type crossClass uint8

const (
	crossMap     crossClass = iota // two columns in, one out
	crossCompare                   // one or two columns in, bits out
	crossBits                      // bits in, bits or a scalar out
	crossReduce                    // a column in, a scalar out
	crossFilter                    // a column and bits in, part of the column out
	crossTake                      // a column and indices in, a column as long as the indices out
)

// Place is where the inputs of a call lie.
type Place uint8

const (
	// DeviceMemory is a device's own memory, where ToDevice and Batch.Keep put columns. Where device and host share one
	// memory it is HostMemory.
	DeviceMemory Place = iota
	// HostMemory is memory of an allocator of the device.
	HostMemory
	// ForeignMemory is any other memory; the device needs it wrapped or copied.
	ForeignMemory
)

func (p Place) String() string {
	return [...]string{"in device memory", "in GPU-visible memory", "in foreign memory"}[p]
}

// shipped are the crossovers of a device family that has not been measured on this machine, in rows of 8 bytes. Metal's
// are those published for an Apple M4 Max against a CPU library that uses every core; CUDA's were measured on an H200
// beside 16 cores (bench/results/h200-columns.md). The emulator is for tests and never wins.
var shipped = map[string]map[crossClass][ForeignMemory + 1]int64{
	"cuda": {
		crossMap:     {Never, Never, Never},
		crossCompare: {131_072, Never, Never},
		crossBits:    {131_072, 131_072, Never},
		crossReduce:  {524_288, Never, Never},
		crossFilter:  {524_288, Never, Never},
		crossTake:    {Never, Never, Never},
	},
	"metal": {
		crossMap:     {10_000_000, 10_000_000, Never},
		crossCompare: {30_000_000, 30_000_000, Never},
		crossBits:    {1_000_000_000, 1_000_000_000, Never},
		crossReduce:  {10_000_000, 10_000_000, Never},
		crossFilter:  {30_000_000, 30_000_000, Never},
		crossTake:    {30_000_000, 30_000_000, Never},
	},
}

var (
	setMu sync.Mutex
	// set holds crossovers that the program or the environment set, by function; "" is every function.
	set        atomic.Pointer[map[string]int64]
	envOnce    sync.Once
	envProblem error
)

// SetCrossover makes a function (every function, if the name is empty) run on the GPU from that many rows on, wherever
// its inputs lie; [Never] keeps it on the CPU, a negative number brings the default back. BROADHEAD_CROSSOVER does the
// same from outside: a number of rows or "never", or a list such as "sum=100000,filter=never". An unknown name is an error.
func SetCrossover(function string, rows int64) error {
	if function != "" && functions[function] == nil {
		return fmt.Errorf("compute: SetCrossover: no function %q", function)
	}
	loadEnv()
	setCrossover(function, rows)
	return nil
}

func setCrossover(function string, rows int64) {
	setMu.Lock()
	defer setMu.Unlock()
	next := map[string]int64{}
	if old := set.Load(); old != nil {
		for k, v := range *old {
			next[k] = v
		}
	}
	if rows < 0 {
		delete(next, function)
	} else {
		next[function] = rows
	}
	set.Store(&next)
}

func loadEnv() {
	envOnce.Do(func() { envProblem = parseCrossovers(os.Getenv("BROADHEAD_CROSSOVER"), setCrossover) })
}

// parseCrossovers reads what BROADHEAD_CROSSOVER may hold.
func parseCrossovers(text string, put func(function string, rows int64)) error {
	var errs []error
	for _, item := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, value, named := strings.Cut(item, "=")
		if !named {
			name, value = "", item
		}
		rows, err := strconv.ParseInt(value, 10, 64)
		if value == "never" {
			rows, err = Never, nil
		}
		if err != nil || rows < 0 || name != "" && functions[name] == nil {
			errs = append(errs, fmt.Errorf("BROADHEAD_CROSSOVER: %q is no crossover: want rows, never, or function=rows", item))
			continue
		}
		put(name, rows)
	}
	return errors.Join(errs...)
}

// EnvError is what is wrong with BROADHEAD_CROSSOVER, if anything; the faulty part of it is ignored.
func EnvError() error {
	loadEnv()
	return envProblem
}

// crossoverSet is what the program or the environment set for a function, if anything.
func crossoverSet(function string) (rows int64, ok bool) {
	loadEnv()
	if m := set.Load(); m != nil {
		if rows, ok = (*m)[function]; !ok {
			rows, ok = (*m)[""]
		}
	}
	return rows, ok
}

// crossoverOf is the number of rows from which a device wins, and where that number comes from.
func crossoverOf(function string, dev *gpu.Info, class crossClass, in msl.Type, place Place) (rows int64, from string) {
	loadEnv()
	if m := set.Load(); m != nil {
		if v, ok := (*m)[function]; ok {
			return v, "set for " + function
		}
		if v, ok := (*m)[""]; ok {
			return v, "set"
		}
	}
	if m := measuredOn(dev); m != nil {
		return perWidth(m[class][place], class, in), "measured on this machine"
	}
	family, ok := shipped[dev.Driver]
	if !ok {
		return Never, "default for " + dev.Driver
	}
	return perWidth(family[class][place], class, in), "default, not measured here"
}

// perWidth scales a crossover for values of 8 bytes to other widths: what counts is bytes.
func perWidth(rows int64, class crossClass, in msl.Type) int64 {
	if rows == Never || class == crossBits {
		return rows
	}
	return rows * 8 / int64(max(widths[in], 1))
}

// Crossover is one row of the table of crossovers in force.
type Crossover struct {
	Function string
	Width    int // of one value in bytes, 0 for bits
	Place    Place
	Rows     int64
	From     string
}

// Crossovers lists the crossovers in force for a device, for values of 8 bytes.
func Crossovers(dev gpu.Info) []Crossover {
	var out []Crossover
	add := func(name string, class crossClass) {
		for _, p := range []Place{DeviceMemory, HostMemory, ForeignMemory} {
			in := msl.I64
			if class == crossBits {
				in = msl.Bool
			}
			rows, from := crossoverOf(name, &dev, class, in, p)
			out = append(out, Crossover{Function: name, Width: widths[in], Place: p, Rows: rows, From: from})
		}
	}
	for _, t := range tables {
		for i := range t {
			if t[i].gpu.Value != "" {
				add(t[i].name, t[i].cross)
			}
		}
	}
	for i := range aggregates {
		add(aggregates[i].name, aggregates[i].cross)
	}
	add("cast", crossMap)
	add("is_in", crossCompare)
	add("filter", crossFilter)
	add("take", crossTake)
	return out
}
