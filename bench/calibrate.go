package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

// newCalibrate measures the crossovers of this machine and stores them for every program of this user.
func newCalibrate() *cobra.Command {
	var name string
	var forget bool
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure from how many rows the device wins here, and store it for this user's programs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dev, err := openDevice(name)
			if err != nil {
				return err
			}
			if forget {
				return compute.ForgetCalibration(dev)
			}
			if dev.Info().Driver == emulatorName {
				return fmt.Errorf("the emulator's times say nothing about a GPU")
			}
			list, err := compute.Calibrate(compute.WithDevice(cmd.Context(), dev))
			if err != nil {
				return err
			}
			info := dev.Info()
			return printCalibration(cmd.OutOrStdout(), info.Name, list)
		},
	}
	cmd.Flags().StringVar(&name, "device", "", "the device by name; BROADHEAD_DEVICE or the best one if empty")
	cmd.Flags().BoolVar(&forget, "forget", false, "delete what was stored instead")
	return cmd
}

func openDevice(name string) (gpu.Device, error) {
	if name == "" {
		return gpu.Default()
	}
	return gpu.Open(name)
}

func printCalibration(w io.Writer, device string, list []compute.Crossover) error {
	rows := [][]string{{"function", "bytes a value", "rows in device memory", "rows in GPU-visible memory", "rows in foreign memory"}}
	for i := 0; i+2 < len(list); i += 3 {
		cells := []string{list[i].Function, strconv.Itoa(list[i].Width)}
		for _, c := range list[i : i+3] {
			text := "never"
			if c.Rows != compute.Never {
				text = strconv.FormatInt(c.Rows, 10)
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	if _, err := fmt.Fprintf(w, "The device wins from, on %s:\n", device); err != nil {
		return err
	}
	printRows(w, rows)
	return nil
}
