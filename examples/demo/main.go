// Command demo computes with the 200,000 flights of examples/data and says where each step ran and why. With a GPU it
// runs every step on CPU and GPU and compares the answers bit for bit.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/examples/data"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

func main() {
	if err := run(context.Background(), os.Stdout, data.Flights); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run reads an Arrow IPC file of flights, computes every step, and prints what came out of it.
func run(ctx context.Context, out io.Writer, file []byte) error {
	if err := compute.EnvError(); err != nil {
		return err
	}
	dev, noDevice := gpu.Default()
	mem := memory.New(dev) // a nil device gives plain memory
	ctx = compute.WithAllocator(ctx, mem)

	f, err := ipc.NewFileReader(bytes.NewReader(file), ipc.WithAllocator(mem))
	if err != nil {
		return err
	}
	defer f.Close()
	flights, err := f.RecordBatchAt(0)
	if err != nil {
		return err
	}
	defer flights.Release()
	columns := flights.Schema().FieldIndices("delay")
	if len(columns) == 0 {
		return fmt.Errorf("the file has no column delay, only %s", flights.Schema())
	}
	delay := flights.Column(columns[0])

	fmt.Fprintf(out, "Delays of %d flights in minutes (US DOT), %s\n", flights.NumRows(), delay.DataType())
	if noDevice == nil {
		fmt.Fprintf(out, "GPU: %s (%s)\n\n", dev.Info().Name, dev.Info().Driver)
	} else {
		fmt.Fprintf(out, "GPU: none\n\n")
	}
	results, err := computeAll(ctx, delay)
	if err != nil {
		return err
	}
	defer release(results)
	report(out, results)
	if noDevice != nil {
		fmt.Fprintln(out, "\nCPU and GPU: no GPU to compare with")
		return nil
	}
	return agree(ctx, out, dev, delay)
}
