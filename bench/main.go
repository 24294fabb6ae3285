// Command bench looks at the machine and measures Broadhead on it:
//
//	go run ./bench doctor      # what is here, what would be used and why, what is missing and how to get it
//	go run ./bench crossover   # CPU and GPU against the number of rows: a table and a plot
//	go run ./bench calibrate   # the crossovers of this machine, stored for this user's programs
//	go run ./bench columns     # kernels over columns that a device holds, against its bandwidth; and over the host's
//
// The Go benchmarks beside it are named for benchstat, a dimension each:
//
//	BenchmarkSum/type=int64/rows=1000000/nulls=10/path=cpu
//
// The families are Sum, MinMax, Mean, Count, Compare, Add, Multiply, Filter and Logic; the paths are cpu (ours), gpu (a
// device that is there, or that BROADHEAD_DEVICE names) and arrowgo (arrow-go's own, where it has the function). All of
// them take a quarter of an hour or more, which is longer than go test allows by itself, so choose:
//
//	go test ./bench -run xxx -bench 'Sum/type=int64/rows=100000$'
//	go test ./bench -run xxx -bench '/type=int64/rows=1000000$/nulls=0' -count=10 > new.txt
//	go test ./bench -run xxx -bench . -timeout 1h > all.txt
//	benchstat -col /path new.txt
//
// MB/s counts the Arrow bytes of the inputs and the result: values, and validity bitmaps where there are nulls. Inputs
// lie in memory of a memory.Allocator; arrow-go reads the same ones, and its results come from its default allocator.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// commands are those of this platform alone.
var commands []func() *cobra.Command

// run is main without the process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	root := &cobra.Command{
		Use:           "bench",
		Short:         "Look at this machine and measure Broadhead on it",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newDoctor(), newCrossover(), newCalibrate(), newLatency(), newColumns())
	for _, more := range commands {
		root.AddCommand(more())
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}
