// Package cuda is the driver of NVIDIA GPUs. Importing it registers the driver "cuda":
//
//	import _ "github.com/broadhead-go/broadhead/gpu/cuda"
//
// It is for Linux; elsewhere the package is empty. It loads libcuda.so.1 and libnvrtc without cgo, so a program that
// imports it cross-compiles, starts on machines without a GPU, and finds there the reason in gpu.Devices. It needs a
// driver for CUDA 12.0 (525) or later, a GPU of compute capability 7.0 (Volta) or later, and NVRTC, the compiler:
// from the CUDA toolkit, from "pip install nvidia-cuda-nvrtc", or where BROADHEAD_NVRTC says. Without NVRTC the core kernels
// that the program has compiled beforehand serve (see [Precompile]), on GPUs of compute capability 8.0 (Ampere) or later and
// drivers for the CUDA version that they were compiled with or later; what has no kernel there is left to the CPU.
//
// Kernels are the same Metal Shading Language text as elsewhere, compiled behind a prelude; floating-point arithmetic
// follows IEEE-754, with subnormals and without contraction. Compiled kernels are kept in the user's cache folder, or
// in the one that BROADHEAD_CUDA_CACHE names ("off": nowhere), so that the next process compiles nothing.
//
// Beside other users of CUDA in a process the driver works in the device's primary context, never changes its
// flags, and leaves the calling thread's context as it was. Shared memory is host memory pinned for the device, mapped
// here and registered once; memory of others is never registered, so Wrap returns gpu.ErrUnsupported. One commit runs
// on one stream in the order of its recording, so barriers cost nothing; commits run beside each other on several. A
// recording of several steps that comes a third time is launched as one CUDA graph from then on.
//
// An error of a kernel (an illegal address, say) ends a CUDA context for good. The device is lost then, and so is any
// other user of the primary context in the process: start a new process.
package cuda
