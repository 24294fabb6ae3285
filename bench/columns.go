package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadhead-go/broadhead/bench/roofline"
)

// newColumns measures a device over columns that it holds.
func newColumns() *cobra.Command {
	var name, rows string
	var each time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "columns",
		Short: "What a device does with columns that it holds, against its bandwidth and the targets, and with the host's",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := parseRows(rows)
			if err != nil {
				return fmt.Errorf("--rows: %w", err)
			}
			if n < 1 {
				return fmt.Errorf("--rows %d: want a positive number", n)
			}
			if each <= 0 {
				return fmt.Errorf("--each %v: want a positive time", each)
			}
			dev, err := openDevice(name)
			if err != nil {
				return err
			}
			report, err := roofline.Run(cmd.Context(), dev, roofline.Options{Rows: n, Each: each})
			if err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout())
			}
			return report.Markdown(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&name, "device", "", "the device by name; BROADHEAD_DEVICE or the best one if empty")
	cmd.Flags().StringVar(&rows, "rows", "100_000_000", "rows of the columns")
	cmd.Flags().DurationVar(&each, "each", 200*time.Millisecond, "how long each thing is measured, but three times at least")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	return cmd
}
