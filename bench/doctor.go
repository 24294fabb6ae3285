package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/broadhead-go/broadhead/gpu"
)

var errBroken = errors.New("a check failed: see above")

func newDoctor() *cobra.Command {
	var asJSON, metal, quick bool
	var part string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is here, what would be used and why, and what is missing",
		Long: "Say what is here, what would be used and why, what is missing and how to get it.\n" +
			"It fails only if something is broken: a function whose answer is wrong, or a device that does not run it.\n" +
			"With --metal it checks the Metal driver on this Mac, which takes minutes, keeps the verdict, and prints a report for an\n" +
			"issue. On Linux it checks the emulator instead, and says so.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case part != "":
				return runPart(cmd.Context(), part, quick, cmd.OutOrStdout())
			case metal:
				return runSelfCheck(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), quick, asJSON)
			}
			if slices.Contains(gpu.Drivers(), emulatorName) {
				fmt.Fprintln(cmd.ErrOrStderr(), "opening the drivers: the first time, g++ builds the Metal emulator (about 15 s), and its kernels if it is chosen")
			}
			r := examine(cmd.Context())
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				if err := enc.Encode(r); err != nil {
					return err
				}
			} else if err := r.print(cmd.OutOrStdout()); err != nil {
				return err
			}
			if r.broken() {
				return errBroken
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&metal, "metal", false, "check the Metal driver on this machine")
	cmd.Flags().BoolVar(&quick, "quick", false, "with --metal: a sample only, and no verdict")
	cmd.Flags().StringVar(&part, "part", "", "with --metal: run one part in this process")
	cobra.CheckErr(cmd.Flags().MarkHidden("part"))
	return cmd
}
