package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/broadhead-go/broadhead/bench/latency"
)

// newLatency measures what small calls cost on a device.
func newLatency() *cobra.Command {
	var name, folder string
	var o latency.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "latency",
		Short: "What a small call costs on a device, stage by stage: tables, JSON and plots",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Calls < 0 {
				return fmt.Errorf("--calls %d: want a positive number", o.Calls)
			}
			for _, n := range o.Rows {
				if n < 1 {
					return fmt.Errorf("--rows %d: want positive numbers", n)
				}
			}
			dev, err := openDevice(name)
			if err != nil {
				return err
			}
			report, err := latency.Run(cmd.Context(), dev, o)
			if err != nil {
				return err
			}
			if folder != "" {
				if err := keep(report, folder); err != nil {
					return err
				}
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout())
			}
			return report.Markdown(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&name, "device", "", "the device by name; BROADHEAD_DEVICE or the best one if empty")
	cmd.Flags().StringVar(&folder, "out", "", "a folder for latency.md, latency.json, operations.svg and amortisation.svg")
	cmd.Flags().IntVar(&o.Calls, "calls", 500, "how often each thing is measured")
	cmd.Flags().IntSliceVar(&o.Rows, "rows", []int{1000, 10_000, 100_000, 1_000_000}, "lengths of columns")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	return cmd
}

// keep writes all forms of a report into a folder.
func keep(r *latency.Report, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"latency.md": r.Markdown, "latency.json": r.JSON, "operations.svg": r.PlotOperations, "amortisation.svg": r.PlotAmortisation,
	} {
		f, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		err = write(f)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}
