//go:build amd64 || arm64

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/cuda"
	"github.com/broadhead-go/broadhead/msl"
)

func init() { commands = append(commands, newPTX) }

// newPTX compiles the core kernels for machines without NVRTC.
func newPTX() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "ptx",
		Short: "Compile the core kernels for machines with an NVIDIA GPU and no NVRTC: needs NVRTC, and no GPU",
		Long: "Compile the core kernels to the archive that programs have with them, gpu/cuda/kernels/ptx.zst. Drivers older than the\n" +
			"CUDA version of the NVRTC that makes it do not load it, so an old one (12.0) serves the most: BROADHEAD_NVRTC names it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return errors.New("--out: want a file to write")
			}
			kernels, err := coreKernels()
			if err != nil {
				return err
			}
			var file bytes.Buffer
			if err := cuda.Precompile(&file, kernels); err != nil {
				return err
			}
			if err := os.WriteFile(out, file.Bytes(), 0o644); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s in %s\n", plural(len(kernels), "kernel"), sized(int64(file.Len())))
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the file to write")
	return cmd
}

// The core are aggregates and selections of all types, and these element-wise functions of these types.
var (
	coreFunctions = map[string]bool{
		"add": true, "add_unchecked": true, "sub": true, "sub_unchecked": true, "multiply": true, "multiply_unchecked": true,
		"divide": true, "equal": true, "not_equal": true, "greater": true, "greater_equal": true, "less": true, "less_equal": true,
		"and": true, "or": true, "not": true, "and_kleene": true, "or_kleene": true, "is_null": true, "is_not_null": true,
		"if_else": true, "fill_null": true, "cast": true, "cast_checked": true,
	}
	coreTypes = map[msl.Type]bool{msl.Bool: true, msl.I32: true, msl.I64: true, msl.F32: true, msl.F64: true, msl.U32: true, msl.U64: true}
)

// isCore says whether a kernel is of the core. Choices move values by their width, so theirs are unsigned.
func isCore(k msl.Key) bool {
	unsigned := k.In == msl.U32 || k.In == msl.U64
	switch k.Skeleton {
	case msl.Map:
		choice := k.Op == "if_else" || k.Op == "fill_null"
		return coreFunctions[k.Op] && coreTypes[k.In] && coreTypes[k.Out] && (choice || !unsigned && k.Out != msl.U32 && k.Out != msl.U64)
	case msl.Gather:
		return k.In == msl.I32 || k.In == msl.I64
	case msl.CumulateLookback:
		return coreTypes[k.In]
	case msl.CumulateReduce, msl.CumulateScan, msl.CumulateApply:
		return false // of devices without forward progress
	}
	return true
}

// coreKernels are the texts of the core's kernels for CUDA, in every variant.
func coreKernels() ([]gpu.Source, error) {
	var out []gpu.Source
	seen := map[msl.Key]bool{}
	for _, k := range msl.Keys(compute.Kernels()...) {
		k.Caps = cuda.Caps
		if k = msl.Canonical(k); seen[k] || !isCore(k) {
			continue
		}
		seen[k] = true
		name, text, err := msl.Text(k)
		if err != nil {
			return nil, err
		}
		out = append(out, gpu.Source{Name: name, Text: text})
	}
	return out, nil
}
