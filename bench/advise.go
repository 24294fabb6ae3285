package main

import (
	"fmt"
	"runtime"
)

const (
	compilerHow = "Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++; Alpine: apk add g++; or set CXX"
	reportHow   = "report it with the output of this command"
)

// advise lists what the report lacks and how to get it.
func advise(r *report) []advice {
	out := append(adviseDevice(r), adviseSelfCheck(r)...)
	if r.Machine.OS == "linux" && r.Compiler.Error != "" {
		out = append(out, advice{"a C++ compiler, for the Metal emulator, which only tests need: " + r.Compiler.Error, compilerHow})
	}
	if r.Memory.Error != "" {
		out = append(out, advice{"memory: " + r.Memory.Error, "close other programs, or set another device"})
	}
	if r.Memory.HugePageMode == "never" {
		out = append(out, advice{
			"huge pages: the kernel gives none, so large columns cost more page faults",
			"as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
		})
	}
	if m := r.Machine; m.GOMAXPROCS < m.Cores {
		out = append(out, advice{
			fmt.Sprintf("cores: GOMAXPROCS allows %d of %d", m.GOMAXPROCS, m.Cores),
			"unset GOMAXPROCS, or raise the CPU limit of the container",
		})
	}
	for _, v := range r.Environment {
		if v.Problem != "" {
			out = append(out, advice{"a good value of " + v.Name + ": " + v.Problem, orUnknown(v.Meaning)})
		}
	}
	for _, c := range r.Checks {
		if !c.OK {
			out = append(out, advice{"a right answer of " + c.Function + " on " + c.Device + ": " + c.Answer, reportHow})
		}
	}
	return out
}

func adviseDevice(r *report) []advice {
	var out []advice
	real := false
	for _, d := range r.Devices {
		if d.Driver == emulatorName {
			if d.Error != "" && r.Compiler.Error == "" {
				out = append(out, advice{"the Metal emulator, which only tests need: " + d.Error, "see the compiler's message; set CXX to use another"})
			}
			continue
		}
		real = real || d.Error == ""
		if d.Error != "" {
			out = append(out, advice{"a device of driver " + d.Driver + ": " + d.Error, deviceHow(d.Driver)})
		}
	}
	switch {
	case r.Chosen.Driver == emulatorName:
		out = append(out, advice{"a real GPU: the emulator computes on the CPU, slowly, to test kernels", "unset BROADHEAD_DEVICE to compute on the CPU"})
	case real && r.Chosen.Driver == "":
		out = append(out, advice{"the GPU that is here is not used: " + r.Chosen.Why, "unset BROADHEAD_DEVICE"})
	case real:
		for _, c := range r.Crossovers {
			if c.From == "default, not measured here" {
				out = append(out, advice{
					"crossovers measured on this machine: those in force are defaults",
					"go run ./bench crossover, then set BROADHEAD_CROSSOVER",
				})
				break
			}
		}
	case len(out) == 0 || r.Machine.OS != "darwin":
		out = append(out, advice{"a GPU: everything runs on the CPU", deviceHow(runtime.GOOS)})
	}
	return out
}

// deviceHow says what it takes to have a device, by driver or operating system.
func deviceHow(of string) string {
	switch of {
	case "darwin", "metal":
		return "Metal needs macOS 14 and Apple silicon; Intel Macs use the CPU; a virtual machine or -tags nogpu may hide it"
	case "linux":
		return "this program has no driver for GPUs on Linux; to try the GPU path without one: BROADHEAD_DEVICE=emulator"
	case "cuda":
		return "install NVIDIA's driver (libcuda) and NVRTC"
	}
	return "there is no driver for GPUs on " + of
}

func orUnknown(meaning string) string {
	if meaning == "" {
		return "Broadhead does not read it: unset it, or use one that is listed above"
	}
	return "it says " + meaning
}
