// Package emulator is a Metal for Linux: a small Objective-C runtime and Metal
// framework in C++ that package gpu/metal drives exactly as it drives the
// real one. Kernels are MSL text, compiled by g++ when the program asks for
// them, and run on the CPU over memory that host and "GPU" share.
//
// It is for tests and development, not for speed. Kernels are checked by
// default: races, accesses out of bounds, uninitialised threadgroup memory,
// divergent barriers and commands that nothing orders are errors that name
// the kernel, the buffer, the thread and the line of MSL. So is misuse of the
// API. A broken rule ends the process with a message, or is recorded after
// [Record].
//
// The C++ sources are in folder src and embedded; [Build] compiles them once
// into the user's cache folder. Options and the violations that tests look
// for are listed in src/control.h and src/README.md.
package emulator
