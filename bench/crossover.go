package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/broadhead-go/broadhead/gpu"
)

const (
	rowsMin             = 1_000
	rowsMaxDefault      = 10_000_000
	rowsMaxOnEmulator   = 100_000
	rowsMaxAllowed      = 1_000_000_000
	emulatorWarning     = "EMULATOR: its times say nothing about a GPU"
	emulatorExplanation = "The Metal emulator checks kernels on the CPU, a fiber for each thread. Its crossover is never."
)

// request is what the crossover command was asked for.
type request struct {
	workloads []*workload
	typ       arrow.DataType
	rowsMax   int
	repeat    int
	foreign   bool
	out       string

	dev     gpu.Device // nil: the CPU only
	driver  string     // of dev, or cpuName
	model   string     // of dev
	cpuOnly string     // why there is no dev
}

func (q *request) emulated() bool { return q.driver == emulatorName }

func (q *request) onlyCPU() bool { return q.driver == cpuName }

func newCrossover() *cobra.Command {
	var (
		functions          []string
		typ, rows, device  string
		q                  request
		names, typeChoices = crossoverNames(), typeNames()
	)
	cmd := &cobra.Command{
		Use:   "crossover",
		Short: "Measure CPU and GPU against the number of rows, and plot it",
		Long: "Measure functions on columns of 1,000 rows and more, on the CPU and on the chosen device, print a table with\n" +
			"the crossover of each, and plot time against rows. Times are medians of warm runs. The crossover is the number\n" +
			"of rows from which the device is faster at every larger size that was measured.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := q.parse(functions, typ, rows, device, cmd.Flags().Changed("rows-max")); err != nil {
				return err
			}
			return q.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&functions, "function", names, "functions to measure")
	f.StringVar(&typ, "type", "int64", "type of the columns: "+strings.Join(typeChoices, ", "))
	f.StringVar(&rows, "rows-max", fmt.Sprint(rowsMaxDefault), fmt.Sprintf("the most rows; on the emulator the default is %d", rowsMaxOnEmulator))
	f.StringVar(&device, "device", "", "the device, as gpu.Open takes it, or cpu; the default is what BROADHEAD_DEVICE or the machine says")
	f.IntVar(&q.repeat, "repeat", 7, "samples for each median")
	f.BoolVar(&q.foreign, "foreign", false, "put the columns into memory of arrow-go's default allocator, as programs without ours do")
	f.StringVar(&q.out, "out", "crossover.svg", "the file of the plot; its folder must exist")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "functions" {
			name = "function"
		}
		return pflag.NormalizedName(name)
	})
	return cmd
}

// parse checks every flag before anything is measured.
func (q *request) parse(functions []string, typ, rows, device string, rowsChosen bool) error {
	if len(functions) == 0 {
		return errors.New("--function: want at least one of " + strings.Join(crossoverNames(), ", "))
	}
	for _, name := range functions {
		w := findWorkload(name)
		if w == nil {
			return fmt.Errorf("--function: no %q: want some of %s", name, strings.Join(crossoverNames(), ", "))
		}
		if !slices.Contains(q.workloads, w) {
			q.workloads = append(q.workloads, w)
		}
	}
	i := slices.Index(typeNames(), typ)
	if i < 0 {
		return fmt.Errorf("--type: no %q: want one of %s", typ, strings.Join(typeNames(), ", "))
	}
	q.typ = numbers[i]
	var err error
	if q.rowsMax, err = parseRows(rows); err != nil {
		return fmt.Errorf("--rows-max: %w", err)
	}
	if q.rowsMax < rowsMin || q.rowsMax > rowsMaxAllowed {
		return fmt.Errorf("--rows-max: want %s to %s, not %s", grouped(rowsMin), grouped(rowsMaxAllowed), rows)
	}
	if q.repeat < 1 || q.repeat > 1000 {
		return fmt.Errorf("--repeat: want 1 to 1,000, not %d", q.repeat)
	}
	if filepath.Ext(q.out) != ".svg" {
		return fmt.Errorf("--out: want a file that ends in .svg, not %q", q.out)
	}
	if folder, err := os.Stat(filepath.Dir(q.out)); err != nil {
		return fmt.Errorf("--out: %w", err)
	} else if !folder.IsDir() {
		return fmt.Errorf("--out: %s is no folder", filepath.Dir(q.out))
	}
	if err := q.open(device); err != nil {
		return err
	}
	if q.emulated() && !rowsChosen {
		q.rowsMax = rowsMaxOnEmulator
	}
	return nil
}

// open finds the device. Only one that was named on the command line has to be there.
func (q *request) open(device string) (err error) {
	switch device {
	case cpuName:
		q.cpuOnly = "--device=cpu"
	case "":
		if q.dev, err = gpu.Default(); err != nil {
			q.dev, q.cpuOnly = nil, err.Error()
		}
	default:
		if q.dev, err = gpu.Open(device); err != nil {
			return fmt.Errorf("--device: %w", err)
		}
	}
	q.driver = cpuName
	if q.dev != nil {
		q.driver, q.model = q.dev.Info().Driver, q.dev.Info().Name
	}
	return nil
}

func crossoverNames() (names []string) {
	for i := range workloads {
		if workloads[i].crossover {
			names = append(names, workloads[i].function)
		}
	}
	return names
}

func typeNames() (names []string) {
	for _, t := range numbers {
		names = append(names, t.Name())
	}
	return names
}

// findWorkload finds what the crossover command measures, by function or by family.
func findWorkload(name string) *workload {
	for i := range workloads {
		if w := &workloads[i]; w.crossover && (w.function == name || strings.EqualFold(w.family, name)) {
			return w
		}
	}
	return nil
}

// run measures, prints and plots.
func (q *request) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := q.introduce(stdout); err != nil {
		return err
	}
	all, err := q.measure(ctx, stderr)
	if err != nil {
		return err
	}
	if err := q.tabulate(stdout, all); err != nil {
		return err
	}
	if err := q.draw(all); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "plot: %s\n", q.out)
	return err
}
